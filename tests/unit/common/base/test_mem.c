/* Allocation that aborts rather than fails, and the copies. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/unit/fixture/last_words.h"

TEST(nothing_is_something) {
        _cleanup_(freep) void *a = xmalloc(0), *b = xcalloc(0, 8), *c = xrealloc(NULL, 0);
        _cleanup_(freep) void *d = xcalloc(8, 0);

        assert_non_null(a);
        assert_non_null(b);
        assert_non_null(c);
        assert_non_null(d);
}

TEST(grow) {
        _cleanup_(freep) int *array = NULL;
        size_t cap = 0;

        for (size_t len = 0; len < 1000; len++) {
                mem_grow(&array, len, &cap);
                assert_true(cap > len);
                array[len] = (int)len;
        }
        assert_int_equal(array[999], 999);
        assert_int_equal(cap, 1024);
}

static void exhaust_by_multiplication(void) {
        free(xreallocarray(NULL, SIZE_MAX / 2 + 2, 2)); /* would wrap to 2 */
}

static void exhaust_by_calling(void) {
        mem_exhausted();
}

TEST(exhaustion_aborts) {
        check_aborts(exhaust_by_calling, "level=error msg=\"out of memory\"\n");
        check_aborts(exhaust_by_multiplication, "level=error msg=\"out of memory\"\n");
        log_set(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
        check_aborts(exhaust_by_calling, "{\"level\":\"error\",\"msg\":\"out of memory\"}\n");
        log_set(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
}
