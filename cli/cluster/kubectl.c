#include "cli/cluster/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

enum { OUTPUT_MAX_BYTES = 4096, EXIT_NOT_FOUND = 127 };

struct kubectl {
        char *directory, *socket;
        pid_t keeper; /* 0: not running */
        int status;   /* of the keeper, from waitpid() */
        int lifeline; /* of the keeper; -1: none */
        int output;   /* of kubectl; -1: none */
};

/* Signals of a terminal or a user that end a program. */
static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM};

static void close_fd(int fd) {
        if (fd >= 0)
                (void)close(fd);
}

/* ---- The command line. */

struct command {
        char **words;
        size_t count, cap;
};

static void command_done(struct command *command) {
        for (size_t i = 0; i < command->count; i++)
                free(command->words[i]);
        free(command->words);
}

static void add_word(struct command *command, char *word) {
        mem_grow(&command->words, command->count, &command->cap);
        command->words[command->count++] = word;
}

static void add_flags(struct command *command, const struct kubectl_flags *flags) {
        struct kubectl_flags copy = *flags;
        const struct option_row rows[] = {KUBECTL_ROWS(copy)};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct option_row *row = &rows[i];
                const struct option_list *list = row->value;
                const char *const *text = row->value;
                if (row->type == OPTION_BOOL && *(const bool *)row->value)
                        add_word(command, xasprintf("--%s", row->name));
                if (row->type == OPTION_STRING && *text)
                        add_word(command, xasprintf("--%s=%s", row->name, *text));
                for (size_t j = 0; row->type == OPTION_LIST && j < list->count; j++)
                        add_word(command, xasprintf("--%s=%s", row->name, list->items[j]));
        }
}

bool kubectl_is_flag_set(const struct kubectl_flags *flags) {
        _cleanup_(command_done) struct command command = {0};

        add_flags(&command, flags);
        return command.count > 0;
}

/* $KUBECTL may be several words. */
static void add_program(struct command *command) {
        const char *program = getenv("KUBECTL");

        for (const char *at = program ? program : ""; *at;) {
                size_t len = strcspn(at, " ");
                if (len > 0)
                        add_word(command, xmemdup0(at, len));
                at += len + (at[len] == ' ');
        }
        if (command->count == 0)
                add_word(command, xstrdup("kubectl"));
}

/* ---- The process. */

/* In the child. */
static _Noreturn void run(const struct command *command, int output, bool is_quiet) {
        int null_fd = is_quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

        (void)dup2(output, STDOUT_FILENO);
        if (is_quiet)
                (void)dup2(null_fd, STDERR_FILENO);
        (void)execvp(command->words[0], command->words);
        _exit(EXIT_NOT_FOUND);
}

/* Return: the number of children */
static size_t kill_children(void) {
        FILE *file = fopen("/proc/thread-self/children", "re");
        size_t count = 0;
        int pid = 0;

        if (!file)
                return 0;
        while (fscanf(file, "%d", &pid) == 1) {
                (void)kill(pid, SIGKILL);
                count++;
        }
        (void)fclose(file);
        return count;
}

/*
 * The keeper is a process between us and kubectl. When we end for any reason, it kills kubectl and
 * all processes that kubectl has started, and removes the socket. $KUBECTL may be a wrapper that
 * ends before the real kubectl, whose processes then become the keeper's children.
 * @lifeline: closed when we end
 */
static _Noreturn void keep_kubectl(const struct kubectl *kubectl, const struct command *command,
                                   int lifeline, int output) {
        int status = EXIT_NOT_FOUND << 8; /* in waitpid()'s format */

        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        pid_t pid = fork();
        if (pid == 0)
                run(command, output, false);
        /* We and kubectl handle the terminal's signals. */
        for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++)
                (void)signal(ending_signals[i], SIG_IGN);
        /* Nobody who reads our output must wait for the keeper. */
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                (void)dup2(null_fd, fd);
        (void)close(output);
        struct pollfd ends[] = {{.fd = lifeline, .events = POLLIN},
                                {.fd = pidfd_open(pid, 0), .events = POLLIN}};
        while (pid > 0 && poll(ends, ARRAY_LEN(ends), -1) < 0)
                ;
        while (kill_children() > 0) {
                int how = 0;
                if (waitpid(-1, &how, 0) == pid)
                        status = how;
        }
        (void)unlink(kubectl->socket);
        (void)rmdir(kubectl->directory);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int start_keeper(struct kubectl *kubectl, const struct command *command, struct error *err) {
        int output[2] = {-1, -1}, lifeline[2] = {-1, -1};

        int r = pipe2(output, O_CLOEXEC) | pipe2(lifeline, O_CLOEXEC);
        kubectl->keeper = r < 0 ? r : fork();
        int code = errno;
        if (kubectl->keeper == 0) {
                (void)close(lifeline[1]);
                keep_kubectl(kubectl, command, lifeline[0], output[1]);
        }
        close_fd(output[1]);
        close_fd(lifeline[0]);
        kubectl->output = output[0];
        kubectl->lifeline = lifeline[1];
        if (kubectl->keeper > 0)
                return 0;
        (void)rmdir(kubectl->directory);
        return error_set(err, code, "cannot start kubectl: %s", strerror(code));
}

/* Read the output until it is closed, or until @end is printed. Text before @end is a question,
 * such as for a user name, and is shown. */
static void read_output(int fd, const char *end, char text[static OUTPUT_MAX_BYTES]) {
        size_t len = 0;

        text[0] = '\0';
        while (len < OUTPUT_MAX_BYTES - 1 && !(end && strstr(text, end))) {
                ssize_t n = read(fd, text + len, OUTPUT_MAX_BYTES - 1 - len);
                if (n <= 0)
                        break;
                text[len + (size_t)n] = '\0';
                if (end && !strstr(text, end))
                        (void)fputs(text + len, stderr);
                len += (size_t)n;
        }
}

static int describe_end(const struct kubectl *kubectl, struct error *err) {
        int status = WEXITSTATUS(kubectl->status);

        if (status == EXIT_NOT_FOUND)
                return error_set(err, EPIPE,
                                 "cannot run kubectl: it must be on the PATH, or KUBECTL must name "
                                 "it");
        return error_set(err, EPIPE, "kubectl proxy ended with status %d", status);
}

/* ---- Start and end. */

static int make_directory(struct kubectl *kubectl, struct error *err) {
        const char *temporary = getenv("TMPDIR");

        kubectl->directory = xasprintf("%s/plimsoll-XXXXXX",
                                       temporary && *temporary ? temporary : "/tmp");
        if (!mkdtemp(kubectl->directory))
                return error_set(err, errno, "cannot make a directory for kubectl's socket: %s: %s",
                                 kubectl->directory, strerror(errno));
        kubectl->socket = xasprintf("%s/kubectl", kubectl->directory);
        return 0;
}

/* Returns when all processes have ended and the socket is gone. */
static void kubectl_end(struct kubectl *kubectl) {
        close_fd(kubectl->lifeline);
        kubectl->lifeline = -1;
        if (kubectl->keeper > 0)
                (void)waitpid(kubectl->keeper, &kubectl->status, 0);
        kubectl->keeper = 0;
}

int kubectl_start(const struct kubectl_flags *flags, struct kubectl **ret, struct error *err) {
        _cleanup_(kubectl_freep) struct kubectl *kubectl = xcalloc(1, sizeof(*kubectl));
        _cleanup_(command_done) struct command command = {0};
        char text[OUTPUT_MAX_BYTES];

        kubectl->output = kubectl->lifeline = -1;
        int r = make_directory(kubectl, err);
        if (r < 0)
                return r;
        add_program(&command);
        add_word(&command, xstrdup("proxy"));
        add_word(&command, xasprintf("--unix-socket=%s", kubectl->socket));
        /* The server may be https://host/k8s/clusters/name. */
        add_word(&command, xstrdup("--append-server-path"));
        add_flags(&command, flags);
        add_word(&command, NULL);
        r = start_keeper(kubectl, &command, err);
        if (r < 0)
                return r;
        read_output(kubectl->output, "Starting to serve on ", text);
        if (!strstr(text, "Starting to serve on ")) {
                kubectl_end(kubectl);
                return describe_end(kubectl, err);
        }
        *ret = TAKE_PTR(kubectl);
        return 0;
}

const char *kubectl_socket(const struct kubectl *kubectl) {
        return kubectl->socket;
}

int kubectl_check(struct kubectl *kubectl, struct error *err) {
        if (kubectl->keeper > 0 && waitpid(kubectl->keeper, &kubectl->status, WNOHANG) == 0)
                return 0;
        kubectl->keeper = 0;
        return describe_end(kubectl, err);
}

void kubectl_free(struct kubectl *kubectl) {
        if (!kubectl)
                return;
        kubectl_end(kubectl);
        close_fd(kubectl->output);
        free(kubectl->directory);
        free(kubectl->socket);
        free(kubectl);
}

char *kubectl_namespace(const struct kubectl_flags *flags) {
        _cleanup_(command_done) struct command command = {0};
        char text[OUTPUT_MAX_BYTES];
        int output[2], status = -1;

        add_program(&command);
        add_word(&command, xstrdup("config"));
        add_word(&command, xstrdup("view"));
        add_word(&command, xstrdup("--minify"));
        add_word(&command, xstrdup("--output=jsonpath={.contexts[0].context.namespace}"));
        add_flags(&command, flags);
        add_word(&command, NULL);
        if (pipe2(output, O_CLOEXEC) < 0)
                return NULL;
        pid_t pid = fork();
        /* kubectl fails without a context, as with --server alone. That is not an error. */
        if (pid == 0)
                run(&command, output[1], true);
        (void)close(output[1]);
        read_output(output[0], NULL, text);
        (void)close(output[0]);
        (void)waitpid(pid, &status, 0);
        return status == 0 && text[0] ? xstrdup(text) : NULL;
}
