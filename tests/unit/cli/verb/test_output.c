/* Documents for programs. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/verb/output.h"

/* Of text that is no UTF-8 there is no document: programs read null. */
TEST(no_document) {
        static const int formats[] = {OUTPUT_JSON, OUTPUT_YAML};

        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                _cleanup_(freep) char *text = NULL;
                size_t len = 0;
                FILE *out = open_memstream(&text, &len);
                assert_non_null(out);
                output_document(NULL, formats[i], out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, "null\n");
        }
}
