#include "daemon/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

enum { HEALTH_PAGE_MAX_BYTES = 64 * 1024 };

static const char plain_text[] = "text/plain; charset=utf-8";

/* Start and end */

int daemon_init(struct daemon *daemon, const char *program, char *flagz, struct error *err) {
        daemon->flagz = flagz;
        daemon->loop = loop_new();
        if (!daemon->loop)
                return error_set(err, errno, "event loop: %s", strerror(errno));
        daemon->metrics = metrics_new();
        daemon->health = health_new();
        daemon->metrics_page = daemon_metrics_page(daemon->loop, daemon->metrics);
        metrics_register_process(daemon->metrics, program);
        health_heartbeat(daemon->health, daemon->loop, HEALTH_MAX_STUCK_MS);
        return 0;
}

int daemon_connect(struct daemon *daemon, const char *program,
                   const struct kube_access_options *options, struct error *err) {
        _cleanup_(freep) char *user_agent = xasprintf("%s/" PLIMSOLL_VERSION, program);

        int r = kube_access_load(options, &daemon->kube_access, err);
        if (r < 0)
                return r;
        daemon->api = kube_api_new(daemon->loop, user_agent, daemon->kube_access, daemon->metrics);
        return 0;
}

void daemon_done(struct daemon *daemon) {
        kube_api_free(daemon->api);
        kube_access_free(daemon->kube_access);
        if (daemon->on_signal) {
                loop_fd_remove(daemon->loop, daemon->signal_fd);
                close(daemon->signal_fd);
        }
        health_free(daemon->health);
        shared_page_free(daemon->metrics_page);
        free(daemon->flagz);
        metrics_free(daemon->metrics);
        loop_free(daemon->loop);
}

/* Signals */

static void fill_signals(sigset_t *set) {
        sigemptyset(set);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGINT);
        sigaddset(set, SIGHUP);
}

void daemon_begin(void) {
        const struct rlimit none = {0};
        sigset_t set;

        (void)prctl(PR_SET_DUMPABLE, 0);
        /* If core_pattern is a pipe, only the first has an effect. Child processes inherit the
         * second. */
        (void)setrlimit(RLIMIT_CORE, &none);
        fill_signals(&set);
        (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
        (void)signal(SIGPIPE, SIG_IGN);
}

static void on_daemon_signal(void *userdata, int fd, uint32_t epoll_events) {
        const struct daemon *daemon = userdata;
        struct signalfd_siginfo info;

        (void)epoll_events;
        /* One signal at a time; others wake the loop again. */
        if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
                daemon->on_signal(daemon->signal_userdata, (int)info.ssi_signo);
}

int daemon_on_signals(struct daemon *daemon, void (*fn)(void *userdata, int signal_number),
                      void *userdata, struct error *err) {
        sigset_t set;

        fill_signals(&set);
        int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0)
                return error_set(err, errno, "cannot receive signals: %s", strerror(errno));
        daemon->signal_fd = fd;
        daemon->on_signal = fn;
        daemon->signal_userdata = userdata;
        loop_fd_set(daemon->loop, fd, EPOLLIN, on_daemon_signal, daemon);
        return 0;
}

/* Pages */

static void reply_health(const struct health *health, struct http_exchange *exchange,
                         const char *name, bool (*write)(const struct health *, struct buf *)) {
        struct buf out = BUF_INIT(HEALTH_PAGE_MAX_BYTES);

        bool is_passing = write(health, &out);
        if (is_passing && !http_query(exchange, "verbose")) {
                buf_clear(&out);
                (void)buf_puts(&out, "ok");
        } else {
                (void)buf_printf(&out, "%s check %s\n", name, is_passing ? "passed" : "failed");
        }
        http_reply_text(exchange, is_passing ? 200 : 503, plain_text, &out);
}

static void reply_flagz(struct http_exchange *exchange, const char *flagz) {
        struct buf out = BUF_INIT(strlen(flagz));

        buf_puts(&out, flagz);
        http_reply_text(exchange, 200, plain_text, &out);
}

static void write_metrics(void *userdata, struct buf *out) {
        metrics_render(userdata, out);
}

struct shared_page *daemon_metrics_page(struct loop *loop, struct metrics *metrics) {
        return shared_page_new(&(struct shared_page_options){
                .loop = loop,
                .max_bytes = METRICS_MAX_BYTES,
                .content_type = "text/plain; version=0.0.4; charset=utf-8",
                .write = write_metrics,
                .userdata = metrics,
        });
}

bool daemon_pages(const struct daemon *daemon, struct http_exchange *exchange) {
        bool is_flagz = daemon->flagz && strcmp(exchange->path, "/flagz") == 0;
        bool is_ready = strcmp(exchange->path, "/readyz") == 0;
        bool is_live = strcmp(exchange->path, "/livez") == 0;
        bool is_health = strcmp(exchange->path, "/healthz") == 0;

        if (shared_page_serve(daemon->metrics_page, "/metrics", exchange))
                return true;
        if (!is_flagz && !is_ready && !is_live && !is_health)
                return false;
        if (!http_takes(exchange, "GET"))
                return true;
        if (is_flagz)
                reply_flagz(exchange, daemon->flagz);
        else if (is_ready)
                reply_health(daemon->health, exchange, "readyz", health_write_ready);
        else
                reply_health(daemon->health, exchange, is_live ? "livez" : "healthz",
                             health_write_live);
        return true;
}
