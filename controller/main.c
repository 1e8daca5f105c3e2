/* plimsoll-controller: from node_exporters to annotations. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/settings.h"
#include "net/daemon.h"
#include "net/http_client.h"
#include "net/http_server.h"

#define PROGRAM "plimsoll-controller"

enum {
        EXIT_CONFIG = 2, /* usage or configuration */
        /* Sizes the connection caches: keep-alive is kept for about twice as many nodes. */
        EXPECTED_NODES = 5120,
        SERVER_DRAIN_MS = 1000,
        POLICY_TEXT_MAX_BYTES = 1 << 20,
        MMAP_THRESHOLD_BYTES = 256 << 10,
};

struct daemon_state {
        struct loop *loop;
        struct health *health;
        struct metrics *metrics;
        struct controller *controller;
};

static void on_signal(void *userdata, int signal_number) {
        struct daemon_state *state = userdata;

        if (signal_number == SIGHUP) {
                controller_reload(state->controller);
                return;
        }
        log_info(MSG("shutting down"), STR("signal", strsignal(signal_number)));
        health_shut_down(state->health);
        controller_shut_down(state->controller);
}

static void on_request(void *userdata, struct http_exchange *exchange) {
        static const char text[] = "/healthz\n/livez\n/readyz\n/readyz?verbose\n/metrics\n";
        struct daemon_state *state = userdata;

        if (daemon_pages(state->health, state->metrics, exchange))
                return;
        bool is_root = strcmp(exchange->path, "/") == 0;
        daemon_reply_text(exchange, is_root ? 200 : 404, "text/plain; charset=utf-8", text,
                          is_root ? strlen(text) : 0);
}

static int load_policy(const struct settings *settings, struct policy **ret, struct error *err) {
        if (!settings->controller.policy_path) {
                *ret = policy_default();
                return 0;
        }
        return policy_load_file(settings->controller.policy_path, settings->controller.is_strict,
                                ret, err);
}

static int check_config(const struct policy *policy) {
        struct buf text = BUF_INIT(POLICY_TEXT_MAX_BYTES);

        for (size_t i = 0; i < policy->warning_count && i < POLICY_MAX_WARNINGS; i++)
                (void)fprintf(stderr, PROGRAM ": warning: %s\n", policy->warnings[i]);
        policy_print(policy, &text);
        (void)printf("# Options\n");
        fflush(stdout);
        settings_dump(stdout);
        (void)printf("\n# Policy\n%s", text.data ? text.data : "");
        buf_done(&text);
        return 0;
}

/* A connection is kept open to every node. */
static void raise_file_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
                return;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                log_warn(MSG("the limit of open files stays low"), STR("error", strerror(errno)));
}

static int serve(const struct settings *settings, struct daemon_state *state,
                 struct http_server **ret, struct error *err) {
        int r = http_server_start(
                &(struct http_server_options){
                        .bind_address = settings->bind_address,
                        .port = settings->health_port,
                        .threads = 1,
                        .max_body_bytes = 1024,
                        .handler = on_request,
                        .userdata = state,
                },
                ret, err);
        if (r < 0)
                return r;
        log_info(MSG("serving"),
                 STR("address", settings->bind_address ? settings->bind_address : "*"),
                 INT("port", http_server_port(*ret)));
        return 0;
}

static int run(const struct settings *settings, struct policy *policy_in) {
        _cleanup_(policy_freep) struct policy *policy = policy_in;
        _cleanup_(kube_config_freep) struct kube_config *config = NULL;
        struct error err = ERROR_NULL;

        if (settings->needs_cluster && kube_config_load(&settings->kube, &config, &err) < 0) {
                log_error(MSG("no cluster to work for; --dry-run --target NAME=URL needs none"),
                          ERR(&err));
                return EXIT_CONFIG;
        }
        raise_file_limit();

        struct daemon_state state = {0};
        _cleanup_(loop_freep) struct loop *loop = loop_new();
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(health_freep) struct health *health = health_new();
        _cleanup_(http_client_freep) struct http_client *scrape_client = http_client_new(
                loop, &(struct http_client_options){
                              .expected_hosts = settings->needs_cluster
                                                        ? EXPECTED_NODES
                                                        : settings->controller.target_count,
                              .max_in_flight = NODE_EXPORTER_IN_FLIGHT,
                              .user_agent = PROGRAM "/" PLIMSOLL_VERSION,
                      });
        _cleanup_(http_client_freep) struct http_client *kube_client = http_client_new(
                loop, &(struct http_client_options){
                              .expected_hosts = 1,
                              .user_agent = PROGRAM "/" PLIMSOLL_VERSION,
                      });
        _cleanup_(kube_api_freep) struct kube_api *api =
                config ? kube_api_new(loop, kube_client, config, metrics) : NULL;
        _cleanup_(controller_freep) struct controller *controller = NULL;
        struct http_server *server = NULL;

        state = (struct daemon_state){.loop = loop, .health = health, .metrics = metrics};
        metrics_register_process(metrics, PROGRAM);
        const struct controller_parts parts = {
                .loop = loop,
                .scrape_client = scrape_client,
                .api = api,
                .metrics = metrics,
                .health = health,
        };
        if (controller_new(&parts, &settings->controller, TAKE_PTR(policy), &controller, &err) <
            0) {
                log_error(MSG("cannot start"), ERR(&err));
                return EXIT_CONFIG;
        }
        state.controller = controller;
        if (settings->has_server && serve(settings, &state, &server, &err) < 0) {
                log_error(MSG("cannot serve health and metrics; see --bind-address and "
                              "--health-port"),
                          ERR(&err));
                return EXIT_FAILURE;
        }
        _cleanup_(daemon_signals_freep) _unused_ struct daemon_signals *signals =
                daemon_signals_new(loop, on_signal, &state);
        loop_run(loop);
        if (server)
                http_server_stop(server, SERVER_DRAIN_MS);
        return controller_exit_code(controller);
}

int main(int argc, char **argv) {
        enum options_outcome outcome;
        struct settings settings;
        struct error err = ERROR_NULL;
        struct policy *policy = NULL;
        int code;

        daemon_block_signals();
        /* Large buffers (a list, an exporter's flood) go back to the system when they are freed.
         * By default glibc learns from the first of them to keep all later ones on its heap. */
        (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        if (settings_parse(argc, argv, &outcome, &settings, &err) < 0) {
                (void)fprintf(stderr, PROGRAM ": %s\nSee " PROGRAM " --help.\n", err.msg);
                return EXIT_CONFIG;
        }
        if (outcome == OPTIONS_HELP) {
                settings_help(stdout);
                return 0;
        }
        if (outcome == OPTIONS_VERSION) {
                (void)printf(PROGRAM " " PLIMSOLL_VERSION "\n");
                return 0;
        }
        log_set(settings.log_level, settings.log_format);
        if (load_policy(&settings, &policy, &err) < 0) {
                (void)fprintf(stderr, PROGRAM ": %s\n", err.msg);
                code = EXIT_CONFIG;
        } else if (settings.is_check_config) {
                code = check_config(policy);
                policy_free(policy);
        } else {
                code = run(&settings, policy);
        }
        settings_done(&settings);
        return code;
}
