/* What a program says that runs out of memory: checked in a child, since it aborts. */
#pragma once

#include "cmocka_wrap.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs @last_words in a child; it must print @expected and abort. */
static inline void check_aborts(void (*last_words)(void), const char *expected) {
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
