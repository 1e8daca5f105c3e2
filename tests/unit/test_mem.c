/* Allocation that aborts rather than fails, and the copies. */
#include "cmocka_wrap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

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

        (void)state;
        assert_non_null(a);
        assert_non_null(b);
        assert_non_null(c);
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

/* Runs @last_words in a child; it must print the line and abort. */
static void check_aborts(void (*last_words)(void)) {
        static const char expected[] = "level=error msg=\"out of memory\"\n";
        char said[256] = "";
        int fds[2], status = 0;

        assert_int_equal(pipe(fds), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                const struct rlimit no_core = {0, 0};
                (void)setrlimit(RLIMIT_CORE, &no_core);
                (void)signal(SIGABRT, SIG_DFL); /* cmocka catches it to fail a test */
                (void)dup2(fds[1], STDERR_FILENO);
                last_words();
                _exit(0);
        }
        (void)close(fds[1]);
        size_t len = 0;
        for (ssize_t n = 1; n > 0 && len < sizeof(said) - 1; len += (size_t)n) {
                n = read(fds[0], said + len, sizeof(said) - 1 - len);
                assert_true(n >= 0);
        }
        (void)close(fds[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
        assert_string_equal(said, expected);
}

static void test_exhaustion_aborts(void **state) {
        (void)state;
        check_aborts(exhaust_by_calling);
        check_aborts(exhaust_by_multiplication);
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
