/* Allocation that aborts rather than fails, and the copies. */
#include "tests/unit/fixture/cmocka_wrap.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/unit/fixture/last_words.h"

static void test_copies(void **state) {
        _cleanup_(freep) char *text = xstrdup("text");
        _cleanup_(freep) char *bytes = xmemdup0("a\0b", 3);
        _cleanup_(freep) char *nothing = xmemdup0(NULL, 0);
        _cleanup_(freep) char *formatted = xasprintf("%s-%d", "node", 7);

        (void)state;
        assert_string_equal(text, "text");
        assert_memory_equal(bytes, "a\0b", 4);
        assert_string_equal(nothing, "");
        assert_string_equal(formatted, "node-7");
}

static void test_nothing_is_something(void **state) {
        _cleanup_(freep) void *a = xmalloc(0), *b = xcalloc(0, 8), *c = xrealloc(NULL, 0);
        _cleanup_(freep) void *d = xcalloc(8, 0);

        (void)state;
        assert_non_null(a);
        assert_non_null(b);
        assert_non_null(c);
        assert_non_null(d);
}

static void test_grow(void **state) {
        _cleanup_(freep) int *array = NULL;
        size_t cap = 0;

        (void)state;
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

static void test_exhaustion_aborts(void **state) {
        (void)state;
        check_aborts(exhaust_by_calling, "level=error msg=\"out of memory\"\n");
        check_aborts(exhaust_by_multiplication, "level=error msg=\"out of memory\"\n");
        log_set(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
        check_aborts(exhaust_by_calling, "{\"level\":\"error\",\"msg\":\"out of memory\"}\n");
        log_set(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
}

static void test_take_ptr(void **state) {
        char *owner = xstrdup("moved");
        _cleanup_(freep) char *heir = TAKE_PTR(owner);

        (void)state;
        assert_null(owner);
        assert_string_equal(heir, "moved");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_copies),   cmocka_unit_test(test_nothing_is_something),
                cmocka_unit_test(test_grow),     cmocka_unit_test(test_exhaustion_aborts),
                cmocka_unit_test(test_take_ptr),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
