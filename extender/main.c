/* plimsoll-extender: answers kube-scheduler's filter and prioritize calls from node annotations. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "extender/admission/admission_writer.h"
#include "extender/bind/binder.h"
#include "extender/decisions/decisions.h"
#include "extender/decisions/decisions_page.h"
#include "extender/explain/nodes_page.h"
#include "extender/handlers.h"
#include "extender/table/node_table.h"
#include "extender/table/table_watch.h"
#include "extender/trial/trial_watch.h"
#include "kube/kube_path.h"
#include "net/certificates.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/server_tls.h"
#include "policy/live/policy_options.h"
#include "policy/live/policy_source.h"

#define PROGRAM "plimsoll-extender"

enum {
        REQUEST_MAX_BYTES = 128 << 20, /* 16,000 whole nodes of 8 kB */
        MMAP_THRESHOLD_BYTES = 1 << 20,
        /* A scheduler has one call in flight at a time. The second worker is for another scheduler
         * and for the pages. */
        WORKERS = 2,
        DRAIN_MS = 5000,
        /* The time that kube-proxy needs to remove this replica from a Service on every node. */
        SHUTDOWN_DELAY_MS = 3000,
};

static const char *const annotation_units[] = {"ratio", "percent", NULL};

enum { ANNOTATION_UNIT_PERCENT = 1 }; /* of these */

static struct {
        struct program_options shared;
        const char *bind_address;
        struct http_server_tls tls;
        struct option_list client_names;
        int64_t port, health_port;
        const char *health_bind_address; /* NULL: pages have no port of their own */
        int annotation_unit;
        bool is_binding, has_admission;
        double hold_back_percent;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.help = "Policy"},
        PROGRAM_POLICY_ROWS(settings.shared),
        PROGRAM_CHECK_ROW(settings.shared),
        {.help = "API server"},
        PROGRAM_KUBE_ROWS(settings.shared),
        {.help = "Serving"},
        {.name = "bind-address", .type = OPTION_STRING, .value = &settings.bind_address,
         .fallback = "127.0.0.1", .metavar = "ADDRESS",
         .help = "Address to listen on. Behind a Service, set 0.0.0.0 or ::, and "
                 "--client-ca-file: requests carry whole pod specs."},
        {.name = "port", .type = OPTION_INT, .value = &settings.port, .fallback = KUBE_PORT_TEXT(KUBE_PORT_EXTENDER),
         .metavar = "PORT", .min = 0, .max = 65535,
         .help = "Port to listen on; 0: any free port."},
        {.name = "tls-cert-file", .type = OPTION_STRING, .value = &settings.tls.cert_file,
         .metavar = "FILE",
         .help = "Serving certificate and its issuers, in PEM; without it, plain HTTP. Reloaded "
                 "when it changes, as are the next two files."},
        {.name = "tls-private-key-file", .type = OPTION_STRING, .value = &settings.tls.key_file,
         .metavar = "FILE",
         .help = "Private key of the certificate, in PEM."},
        {.name = "client-ca-file", .type = OPTION_STRING, .value = &settings.tls.client_ca_file,
         .metavar = "FILE",
         .help = "Answer schedulers only if their certificate is signed by one of these CAs. The "
                 "pages then also have a port of their own, without TLS."},
        {.name = "health-port", .type = OPTION_INT, .value = &settings.health_port,
         .fallback = KUBE_PORT_TEXT(KUBE_PORT_EXTENDER_HEALTH), .metavar = "PORT", .min = 0, .max = 65535,
         .help = "That port of the pages, with --client-ca-file or --health-bind-address; 0: any free port."},
        {.name = "health-bind-address", .type = OPTION_STRING, .value = &settings.health_bind_address,
         .metavar = "ADDRESS",
         .help = "Address of that port. Set it if the scheduler calls the loopback, such as from the same pod. Default: that of --bind-address."},
        {.name = "client-allowed-names", .type = OPTION_LIST, .value = &settings.client_names,
         .metavar = "NAME",
         .help = "Common name that a client's certificate must have. Default: any."},
        PROGRAM_STATUS_PAGE_ROW(
                settings.shared,
                "Serve /decisions (the last 1,024 pods, with the reasons for each answer) and "
                "/nodes and /trial, and answer /explain. They show names of pods and nodes."),
        {.name = "bind", .type = OPTION_BOOL, .value = &settings.is_binding, .fallback = "false",
         .help = "Also bind pods. Every client that reaches the port can then bind any pod: "
                 "restrict clients with --client-ca-file."},
        {.name = "admission", .type = OPTION_BOOL, .value = &settings.has_admission, .fallback = "false",
         .help = "Keep the nodes that new pods prefer in a PreferredNodes object, for clusters whose kube-scheduler calls no extender (deploy/admission)."},
        {.name = "hold-back", .type = OPTION_NUMBER, .value = &settings.hold_back_percent, .fallback = "0",
         .metavar = "PERCENT", .min = 0, .max = 50,
         .help = "Percentage of the default scheduler's pods to leave to it, as if the extender were not installed. 'kubectl plimsoll trial' then compares both groups."},
        {.help = "Annotations"},
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        {.name = "annotation-unit", .type = OPTION_ENUM, .value = &settings.annotation_unit,
         .fallback = "ratio", .choices = annotation_units,
         .help = "Unit of the numbers in annotations; crane-scheduler-plus writes percent."},
        {.help = "Log"},
        PROGRAM_LOG_ROWS(settings.shared),
};
/* clang-format on */

struct extender {
        struct daemon daemon;
        struct policy_source *policy_source;
        struct program_annotations annotations;
        struct handlers_parts parts; /* created here, and used by the handlers as well */
        struct table_watch *table_watch;
        struct admission_writer *admission; /* NULL: without --admission */
        struct trial_watch *trial_watch;    /* NULL: with --admission, which decides for pods */
        struct loop *side; /* for pages that take too long for the loop and for workers; or NULL */
        pthread_t side_thread;
        struct handlers *handlers;
        struct http_server *server;
        struct http_server *page_server;   /* NULL: pages have no port of their own */
        struct certificates *certificates; /* NULL: plain HTTP */
        struct loop_timer shutdown_delay;
        bool is_ending;
};

static void extender_on_policy(void *userdata, struct policy *policy) {
        struct extender *extender = userdata;

        table_watch_set_policy(extender->table_watch, policy);
}

static void extender_on_policy_known(void *userdata) {
        struct extender *extender = userdata;

        table_watch_keep_policy(extender->table_watch);
}

static void extender_on_bound(void *userdata, const struct pod_facts *pod, bool is_appeared) {
        const struct extender *extender = userdata;
        const struct handlers_parts *parts = &extender->parts;

        if (parts->decisions)
                decisions_confirm(parts->decisions, pod);
        if (extender->admission && is_appeared)
                admission_writer_bound(extender->admission);
        if (parts->trial && is_appeared) {
                struct node_snapshot *snapshot = node_table_acquire(parts->table);
                trial_bound(parts->trial, snapshot, pod, loop_now_unix_ms(extender->daemon.loop));
                node_snapshot_unref(snapshot);
        }
}

static void on_released(void *userdata) {
        struct extender *extender = userdata;

        loop_stop(extender->daemon.loop);
}

static void on_drained(void *userdata) {
        struct extender *extender = userdata;

        if (extender->admission)
                admission_writer_release(extender->admission, on_released, extender);
        else
                loop_stop(extender->daemon.loop);
}

static void end_calls(void *userdata) {
        struct extender *extender = userdata;

        http_server_quiesce(extender->server);
        if (extender->parts.binder)
                binder_drain(extender->parts.binder, on_drained, extender);
        else
                on_drained(extender);
}

static bool is_loopback(const char *address) {
        return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static void extender_on_signal(void *userdata, int signal_number) {
        struct extender *extender = userdata;
        struct loop *loop = extender->daemon.loop;

        if (signal_number == SIGHUP) {
                policy_source_reload(extender->policy_source);
                if (extender->certificates)
                        certificates_reload(extender->certificates);
                return;
        }
        if (extender->is_ending) { /* a second signal: do not wait */
                loop_timer_disarm(loop, &extender->shutdown_delay);
                loop_stop(loop);
                return;
        }
        extender->is_ending = true;
        health_shut_down(extender->daemon.health);
        int64_t delay_ms = is_loopback(settings.bind_address) ? 0 : SHUTDOWN_DELAY_MS;
        if (delay_ms > 0)
                loop_timer_arm(loop, &extender->shutdown_delay, loop_now_mono_ms(loop) + delay_ms,
                               end_calls, extender);
        else
                end_calls(extender); /* before the log line: after it, no bind begins */
        log_info(MSG("shutting down"), INT("signal", signal_number), INT("delay_ms", delay_ms));
}

static int listen_for_schedulers(struct extender *extender, struct error *err) {
        extender->handlers = handlers_new(&extender->parts);
        struct http_server_options server_options = {
                .bind_address = settings.bind_address,
                .port = (uint16_t)settings.port,
                .threads = WORKERS,
                .max_body_bytes = REQUEST_MAX_BYTES,
                .tls = settings.tls,
                .metrics = extender->daemon.metrics,
                .handler = handlers_answer,
                .userdata = extender->handlers,
        };
        if (settings.tls.cert_file)
                extender->certificates = certificates_new(&(struct certificates_options){
                        .loop = extender->daemon.loop,
                        .metrics = extender->daemon.metrics,
                        .health = extender->daemon.health,
                        .files = settings.tls,
                });
        int r = http_server_start(&server_options, &extender->server, err);
        if (r == 0 && extender->certificates)
                certificates_serve(extender->certificates, extender->server);
        return r;
}

static bool has_page_port(void) {
        return settings.tls.client_ca_file || settings.health_bind_address;
}

/* Kubelets, Prometheus and the API server's proxy have no certificate, and do not reach the
 * loopback. */
static int listen_for_pages(struct extender *extender, struct error *err) {
        const struct http_server_options options = {
                .bind_address = settings.health_bind_address ? settings.health_bind_address
                                                             : settings.bind_address,
                .port = (uint16_t)settings.health_port,
                .threads = 1,
                .max_body_bytes = EXPLAIN_MAX_BYTES,
                .handler = handlers_answer_page,
                .userdata = extender->handlers,
        };

        int r = http_server_start(&options, &extender->page_server, err);
        return r < 0 ? error_wrap(err, r, "--health-port") : 0;
}

static void warn_of_binding(void) {
        if (settings.is_binding && !settings.tls.client_ca_file &&
            !is_loopback(settings.bind_address))
                log_warn(MSG("every client that reaches this port can bind pods; set "
                             "--client-ca-file"),
                         STR("address", settings.bind_address));
}

/* In reverse order of creation, so that users are freed first. */
static void extender_done(struct extender *extender) {
        struct handlers_parts *parts = &extender->parts;

        certificates_free(extender->certificates);
        if (parts->binder)
                binder_stop(parts->binder);
        if (extender->side) {
                loop_stop(extender->side);
                (void)pthread_join(extender->side_thread, NULL);
                shared_page_stop(parts->nodes_page);
                explain_page_stop(parts->explain_page);
        }
        if (parts->trial_page)
                shared_page_stop(parts->trial_page);
        if (extender->server)
                http_server_stop(extender->server, DRAIN_MS);
        if (extender->page_server)
                http_server_stop(extender->page_server, DRAIN_MS);
        handlers_free(extender->handlers);
        shared_page_free(parts->nodes_page);
        explain_page_free(parts->explain_page);
        loop_free(extender->side);
        shared_page_free(parts->decisions_list);
        decisions_free(parts->decisions);
        binder_free(parts->binder);
        table_watch_free(extender->table_watch);
        admission_writer_free(extender->admission);
        trial_watch_free(extender->trial_watch);
        trial_free(parts->trial);
        node_table_free(parts->table);
        program_annotations_done(&extender->annotations);
        policy_source_free(extender->policy_source);
        daemon_done(&extender->daemon);
}

static void *run_side(void *loop) {
        loop_run(loop);
        return NULL;
}

static int extender_run(struct extender *extender, struct error *err) {
        struct daemon *daemon = &extender->daemon;
        struct handlers_parts *parts = &extender->parts;
        struct buf flagz = BUF_INIT(OPTIONS_FLAGZ_MAX_BYTES);
        struct policy *policy = NULL;

        options_flagz(PROGRAM, rows, ARRAY_LEN(rows), &flagz);
        if (daemon_init(daemon, PROGRAM, buf_take(&flagz), err) < 0)
                return program_exit_code(err);
        const struct policy_source_options source_options = {
                .loop = daemon->loop,
                .metrics = daemon->metrics,
                .health = daemon->health,
                .path = settings.shared.policy_path,
                .is_strict = settings.shared.is_strict,
                .on_policy = extender_on_policy,
                .on_known = extender_on_policy_known,
                .userdata = extender,
        };
        if (policy_source_new(&source_options, &extender->policy_source, &policy, err) < 0)
                return program_exit_code(err);
        if (program_annotations_init(&extender->annotations, &settings.shared, err) < 0 ||
            daemon_connect(daemon, PROGRAM, &settings.shared.kube, err) < 0) {
                policy_free(policy);
                return program_exit_code(err);
        }
        policy_source_watch_object(extender->policy_source, daemon->api);

        const struct node_table_options table_options = {
                .annotation_prefix = extender->annotations.prefix,
                .zone = extender->annotations.zone,
                .is_percent = settings.annotation_unit == ANNOTATION_UNIT_PERCENT,
                .metrics = daemon->metrics,
        };
        parts->daemon = daemon;
        parts->is_debug = settings.shared.log_level == LOG_LEVEL_DEBUG;
        parts->table = node_table_new(&table_options, policy, clock_wall_unix_ms());
        extender->table_watch = table_watch_new(&(struct table_watch_options){
                .daemon = daemon,
                .table = parts->table,
                .namespace = kube_access_home(daemon->kube_access),
                .on_bound = extender_on_bound,
                .userdata = extender,
                .awaits_policy = policy_source_is_awaited(extender->policy_source),
        });
        if (settings.is_binding)
                parts->binder = binder_new(daemon);
        if (settings.has_admission) {
                extender->admission = admission_writer_new(daemon, parts->table,
                                                           kube_access_home(daemon->kube_access));
        } else {
                parts->trial = trial_new(settings.hold_back_percent / 100);
                extender->trial_watch = trial_watch_new(daemon, parts->table, parts->trial);
        }
        if (settings.shared.has_status_page) {
                parts->decisions = decisions_new();
                parts->decisions_list = decisions_page_list(daemon->loop, parts->decisions);
                extender->side = loop_new();
                if (!extender->side) {
                        (void)error_set(err, errno, "event loop: %s", strerror(errno));
                        return program_exit_code(err);
                }
                parts->nodes_page = nodes_page_new(extender->side, parts->table);
                parts->explain_page = explain_page_new(extender->side, parts->table,
                                                       &table_options);
                if (pthread_create(&extender->side_thread, NULL, run_side, extender->side) != 0)
                        abort();
                if (parts->trial)
                        parts->trial_page = trial_watch_page(extender->trial_watch);
        }
        if (listen_for_schedulers(extender, err) < 0 ||
            (has_page_port() && listen_for_pages(extender, err) < 0))
                return program_exit_code(err);
        if (daemon_on_signals(daemon, extender_on_signal, extender, err) < 0)
                return program_exit_code(err);
        log_info(MSG("serving"), STR("address", settings.bind_address),
                 INT("port", http_server_port(extender->server)),
                 STR("api_server", kube_access_server(daemon->kube_access)),
                 STR("version", PLIMSOLL_VERSION));
        if (extender->page_server)
                log_info(MSG("serving pages without client certificates"),
                         STR("address", settings.health_bind_address ? settings.health_bind_address
                                                                     : settings.bind_address),
                         INT("port", http_server_port(extender->page_server)));
        loop_run(daemon->loop);
        return 0;
}

static int check_serving(struct error *err) {
        const char *pages = settings.health_bind_address;

        if (settings.has_admission && settings.hold_back_percent > 0)
                return error_set(err, EINVAL,
                                 "--hold-back: cannot be combined with --admission, which steers "
                                 "all pods");
        if (pages && http_server_check(pages, &(struct http_server_tls){0}, err) < 0)
                return options_wrap(err, -EINVAL, &settings.health_bind_address);
        int r = http_server_check(settings.bind_address, &(struct http_server_tls){0}, err);
        return r < 0 ? options_wrap(err, r, &settings.bind_address)
                     : http_server_check(settings.bind_address, &settings.tls, err);
}

static int check_files(struct error *err) {
        _cleanup_(program_annotations_done) struct program_annotations annotations = {0};
        _cleanup_(server_tls_unrefp) struct server_tls *tls = NULL;
        const struct http_server_tls *files = &settings.tls;

        int r = program_annotations_init(&annotations, &settings.shared, err);
        if (r == 0 && files->cert_file)
                r = server_tls_load(files, &tls, err);
        return r < 0 ? r
                     : policy_options_check(PROGRAM, &settings.shared, rows, ARRAY_LEN(rows), err);
}

static int check_config(void) {
        struct error err = ERROR_NULL;

        if (check_files(&err) == 0)
                return 0;
        (void)fprintf(stderr, PROGRAM ": %s\n", err.msg);
        return PROGRAM_EXIT_CONFIG;
}

static void extender_help(void) {
        (void)puts(
                "Usage: plimsoll-extender [FLAG...]\n"
                "\n"
                "Answers kube-scheduler's filter, prioritize and preempt calls from the load in\n"
                "the nodes' annotations. Every flag can also be set in the environment:\n"
                "--log-level as PLIMSOLL_LOG_LEVEL.\n"
                "\n"
                "Examples:\n"
                "  plimsoll-extender --check-config\n"
                "  plimsoll-extender --kubeconfig=/etc/kubernetes/scheduler.conf\n");
        options_help(rows, ARRAY_LEN(rows), stdout);
}

static int serve(void) {
        struct extender extender = {0};
        struct error err = ERROR_NULL;

        int status = extender_run(&extender, &err);
        if (status != 0)
                program_refuse_start(PROGRAM, &err);
        extender_done(&extender);
        if (status == 0)
                log_info(MSG("stopped"));
        return status;
}

int main(int argc, char **argv) {
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int first, status = 0;

        daemon_begin();
        /* Return the memory of large requests to the system when it is freed. By default, glibc
         * raises this threshold after the first one, and keeps the memory of later ones on its
         * heaps. */
        (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        int r = options_parse(rows, ARRAY_LEN(rows), argc, argv, &outcome, &first, &err);
        settings.tls.client_names = (const char *const *)settings.client_names.items;
        settings.tls.client_name_count = settings.client_names.count;
        if (r == 0 && outcome == OPTIONS_RUN && first < argc)
                r = error_set(&err, EINVAL, "'%.64s': expected a flag", argv[first]);
        else if (r == 0 && outcome == OPTIONS_RUN)
                r = check_serving(&err);
        if (r < 0) {
                program_refuse_usage(PROGRAM, &err);
                status = PROGRAM_EXIT_CONFIG;
        } else if (outcome == OPTIONS_HELP) {
                extender_help();
        } else if (outcome == OPTIONS_VERSION) {
                (void)puts(PROGRAM " " PLIMSOLL_VERSION);
        } else {
                program_begin(PROGRAM, &settings.shared, rows, ARRAY_LEN(rows));
                warn_of_binding();
                status = settings.shared.is_check_config ? check_config() : serve();
        }
        options_done(rows, ARRAY_LEN(rows));
        return program_end(PROGRAM, status);
}
