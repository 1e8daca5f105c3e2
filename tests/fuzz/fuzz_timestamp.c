/* Timestamps: what is read, written to milliseconds, reads back as the same instant. */
#include <string.h>

#include "base/mem.h"
#include "base/timestamp.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;
        char written[TIMESTAMP_MAX];
        int64_t at_unix_ms = 42, again = 42;

        if (!timestamp_parse(text, size, &at_unix_ms)) {
                if (at_unix_ms != 42)
                        abort();
                return 0;
        }
        timestamp_format_ms(at_unix_ms, written, sizeof(written));
        if (!timestamp_parse(written, strlen(written), &again) || again != at_unix_ms)
                abort();
        /* The text to the second is the same text. */
        if (memcmp(written, text, sizeof("2026-07-23T11:25:54") - 1) != 0)
                abort();
        return 0;
}
