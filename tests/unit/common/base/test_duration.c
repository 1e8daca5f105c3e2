/* Durations as text. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/duration.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        int64_t ms = 42;
        char written[DURATION_TEXT_MAX];
        int r = duration_parse(text, len, &ms);

        if (r == 0) {
                duration_format(ms, written);
                buf_printf(out, "%lld %s", (long long)ms, written);
        } else {
                assert_int_equal(ms, 42);
                buf_puts(out, r == -ERANGE ? "too long" : "-");
        }
}

TEST(duration) {
        rows_check("durations.tsv", show);
}
