/* plimsoll-extender: answers kube-scheduler's filter and prioritize calls from node annotations. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/zone.h"
#include "codec/metrics.h"
#include "codec/options.h"
#include "extender/explain.h"
#include "extender/feed.h"
#include "extender/handlers.h"
#include "extender/node_table.h"
#include "extender/policy_file.h"
#include "kube/kube_api.h"
#include "kube/kube_config.h"
#include "net/daemon.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "policy/policy.h"

enum {
        EXIT_RUNTIME = 1,
        EXIT_USAGE = 2,
        REQUEST_MAX_BYTES = 128 << 20, /* 15,000 whole nodes are about 120 MB */
        DRAIN_MS = 5000,
        KUBE_HOSTS = 1,
};

static struct {
        const char *policy_path, *kubeconfig, *context, *master;
        const char *bind_address, *cert_file, *key_file, *client_ca_file;
        const char *prefix, *timezone;
        int64_t port, threads;
        int unit, log_level, log_format;
        bool is_strict, is_compact, is_check;
} settings;

static const char *const units[] = {"ratio", "percent", NULL};
static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const log_formats[] = {"logfmt", "json", NULL};

static const struct option_row rows[] = {
        {.help = "Policy"},
        {.name = "policy-config-path",
         .type = OPTION_STRING,
         .value = &settings.policy_path,
         .metavar = "FILE",
         .help = "The policy, in YAML or JSON; read again when it changes. Default: the built-in "
                 "one."},
        {.name = "strict",
         .type = OPTION_BOOL,
         .value = &settings.is_strict,
         .help = "Refuse a policy with unknown fields instead of warning."},
        {.name = "check-config",
         .type = OPTION_BOOL,
         .value = &settings.is_check,
         .help = "Validate the policy and the flags, print what would be in force, and exit with "
                 "0 or 2."},
        {.help = "API server"},
        {.name = "kubeconfig",
         .type = OPTION_STRING,
         .value = &settings.kubeconfig,
         .metavar = "FILE",
         .help = "How to reach the API server. Default: the pod's service account, then "
                 "$KUBECONFIG, then ~/.kube/config."},
        {.name = "context",
         .type = OPTION_STRING,
         .value = &settings.context,
         .metavar = "NAME",
         .help = "Context of the kubeconfig to use instead of its current one."},
        {.name = "master",
         .type = OPTION_STRING,
         .value = &settings.master,
         .metavar = "URL",
         .help = "Address of the API server, over what the kubeconfig says."},
        {.help = "Serving"},
        {.name = "bind-address",
         .type = OPTION_STRING,
         .value = &settings.bind_address,
         .fallback = "127.0.0.1",
         .metavar = "ADDRESS",
         .help = "Address to listen on. The default serves a scheduler on the same host or in the "
                 "same pod; behind a Service set 0.0.0.0 or ::, and --client-ca-file, since "
                 "requests carry whole pod specs."},
        {.name = "port",
         .type = OPTION_INT,
         .value = &settings.port,
         .fallback = "8010",
         .metavar = "PORT",
         .min = 0,
         .max = 65535,
         .help = "Port to listen on; 0: any free one."},
        {.name = "threads",
         .type = OPTION_INT,
         .value = &settings.threads,
         .fallback = "2",
         .metavar = "COUNT",
         .min = 1,
         .max = 64,
         .help = "Worker threads. A scheduler has one call under way at a time; more help when "
                 "several schedulers ask."},
        {.name = "tls-cert-file",
         .type = OPTION_STRING,
         .value = &settings.cert_file,
         .metavar = "FILE",
         .help = "Certificate to serve with, in PEM; without it, plain HTTP."},
        {.name = "tls-private-key-file",
         .type = OPTION_STRING,
         .value = &settings.key_file,
         .metavar = "FILE",
         .help = "Its private key, in PEM."},
        {.name = "client-ca-file",
         .type = OPTION_STRING,
         .value = &settings.client_ca_file,
         .metavar = "FILE",
         .help = "Only answer clients with a certificate that one of these CAs signed."},
        {.name = "compact-scores",
         .type = OPTION_BOOL,
         .value = &settings.is_compact,
         .fallback = "true",
         .help = "Take the smallest score off all of a reply's and leave out the zeros: the same "
                 "ranking, and less for the scheduler to decode. False: every node is named, with "
                 "its full score."},
        {.help = "Annotations"},
        {.name = "annotation-prefix",
         .type = OPTION_STRING,
         .value = &settings.prefix,
         .fallback = "",
         .metavar = "DOMAIN",
         .help = "DNS prefix of the annotations' keys. Default: none, as crane."},
        {.name = "annotation-timezone",
         .type = OPTION_STRING,
         .value = &settings.timezone,
         .fallback = "UTC",
         .metavar = "ZONE",
         .help = "Whose wall clock the annotations show; Asia/Shanghai for crane's default."},
        {.name = "annotation-unit",
         .type = OPTION_ENUM,
         .value = &settings.unit,
         .fallback = "ratio",
         .choices = units,
         .help = "What the annotations' numbers are; percent for crane-scheduler-plus."},
        {.help = "Log"},
        {.name = "log-level",
         .type = OPTION_ENUM,
         .value = &settings.log_level,
         .fallback = "info",
         .choices = log_levels,
         .help = "The least important lines to show."},
        {.name = "log-format",
         .type = OPTION_ENUM,
         .value = &settings.log_format,
         .fallback = "logfmt",
         .choices = log_formats,
         .help = "Form of a line."},
};

struct extender {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        struct daemon_signals *signals;
        struct zone *zone;
        char *prefix;
        struct kube_config *kube_config;
        struct http_client *client;
        struct kube_api *api;
        struct policy_file *policy_file;
        struct node_table *table;
        struct feed *feed;
        struct handlers *handlers;
        struct http_server *server;
};

static void on_policy(void *userdata, struct policy *policy) {
        struct extender *extender = userdata;

        feed_set_policy(extender->feed, policy);
}

static void on_signal(void *userdata, int signal_number) {
        struct extender *extender = userdata;

        if (signal_number == SIGHUP) {
                policy_file_reload(extender->policy_file);
                return;
        }
        log_info(MSG("shutting down"), INT("signal", signal_number));
        health_shut_down(extender->health);
        http_server_quiesce(extender->server);
        loop_stop(extender->loop);
}

static int load_policy(struct extender *extender, struct policy **ret, struct error *err) {
        struct health_check *check = health_add(extender->health, "policy", "not loaded yet");

        struct policy_file_options options = {
                .path = settings.policy_path,
                .is_strict = settings.is_strict,
                .metrics = extender->metrics,
                .check = check,
                .on_change = on_policy,
                .userdata = extender,
        };
        return policy_file_open(extender->loop, &options, &extender->policy_file, ret, err);
}

static int load_config(struct extender *extender, struct policy **ret_policy, struct error *err) {
        struct kube_config_options kube_options = {
                .kubeconfig = settings.kubeconfig,
                .context = settings.context,
                .master = settings.master,
        };

        int r = zone_load(settings.timezone, &extender->zone, err);
        if (r < 0)
                return error_wrap(err, "--annotation-timezone");
        extender->prefix = node_table_prefix(settings.prefix);
        r = kube_config_load(&kube_options, &extender->kube_config, err);
        if (r < 0)
                return r;
        return load_policy(extender, ret_policy, err);
}

static int listen_for_schedulers(struct extender *extender, struct error *err) {
        struct handlers_options options = {
                .table = extender->table,
                .metrics = extender->metrics,
                .health = extender->health,
                .is_compact = settings.is_compact,
                .is_debug = settings.log_level == LOG_LEVEL_DEBUG,
        };

        extender->handlers = handlers_new(&options);
        struct http_server_options server_options = {
                .bind_address = settings.bind_address,
                .port = (uint16_t)settings.port,
                .threads = (unsigned)settings.threads,
                .max_body_bytes = REQUEST_MAX_BYTES,
                .cert_file = settings.cert_file,
                .key_file = settings.key_file,
                .client_ca_file = settings.client_ca_file,
                .handler = handlers_answer,
                .userdata = extender->handlers,
        };
        return http_server_start(&server_options, &extender->server, err);
}

static void feed_table(struct extender *extender) {
        struct http_client_options client_options = {
                .shards = 1,
                .expected_hosts = KUBE_HOSTS,
                .user_agent = "plimsoll-extender/" PLIMSOLL_VERSION,
        };

        extender->client = http_client_new(extender->loop, &client_options);
        extender->api = kube_api_new(extender->loop, extender->client, extender->kube_config,
                                     extender->metrics);
        extender->feed = feed_new(&(struct feed_options){
                .loop = extender->loop,
                .api = extender->api,
                .table = extender->table,
                .metrics = extender->metrics,
                .health = extender->health,
        });
}

/* In the order of need: whoever uses something goes before it. */
static void extender_done(struct extender *extender) {
        if (extender->server)
                http_server_stop(extender->server, DRAIN_MS);
        handlers_free(extender->handlers);
        policy_file_close(extender->policy_file);
        feed_free(extender->feed);
        kube_api_free(extender->api);
        http_client_free(extender->client);
        kube_config_free(extender->kube_config);
        node_table_free(extender->table);
        free(extender->prefix);
        zone_free(extender->zone);
        daemon_signals_free(extender->signals);
        health_free(extender->health);
        metrics_free(extender->metrics);
        loop_free(extender->loop);
}

static int run(struct extender *extender, struct error *err) {
        struct policy *policy = NULL;

        extender->loop = loop_new();
        extender->metrics = metrics_new();
        metrics_register_process(extender->metrics, "plimsoll-extender");
        extender->health = health_new();
        if (load_config(extender, &policy, err) < 0)
                return EXIT_USAGE;

        struct node_table_options table_options = {
                .annotation_prefix = extender->prefix,
                .zone = extender->zone,
                .is_percent = settings.unit == 1,
                .metrics = extender->metrics,
        };
        extender->table = node_table_new(&table_options, policy, clock_wall_unix_ms());
        feed_table(extender);
        int r = listen_for_schedulers(extender, err);
        if (r < 0) /* a busy port may become free; anything else is the flags' fault */
                return r == -EADDRINUSE ? EXIT_RUNTIME : EXIT_USAGE;
        extender->signals = daemon_signals_new(extender->loop, on_signal, extender);
        log_info(MSG("serving"), STR("address", settings.bind_address),
                 INT("port", http_server_port(extender->server)),
                 STR("api_server", kube_config_server(extender->kube_config)),
                 STR("version", PLIMSOLL_VERSION));
        loop_run(extender->loop);
        return 0;
}

static int check_config(struct error *err) {
        _cleanup_(policy_freep) struct policy *policy = NULL;
        _cleanup_(zone_freep) struct zone *zone = NULL;
        _cleanup_(buf_done) struct buf text = BUF_INIT(TREE_MAX_BYTES);

        int r = zone_load(settings.timezone, &zone, err);
        if (r < 0)
                return error_wrap(err, "--annotation-timezone");
        if (settings.policy_path) {
                r = policy_load_file(settings.policy_path, settings.is_strict, &policy, err);
                if (r < 0)
                        return r;
        } else {
                policy = policy_default();
        }
        for (size_t i = 0; i < policy->warning_count && i < POLICY_MAX_WARNINGS; i++)
                (void)fprintf(stderr, "warning: %s\n", policy->warnings[i]);
        policy_print(policy, &text);
        (void)printf("# The policy in force:\n%s\n# Flags:\n", text.data);
        options_dump(rows, ARRAY_LEN(rows), stdout);
        return 0;
}

static void help(void) {
        (void)puts(
                "Usage: plimsoll-extender [FLAG...]\n"
                "       plimsoll-extender explain [FLAG...] [FILE]\n"
                "\n"
                "Answers kube-scheduler's filter and prioritize calls from the load that stands\n"
                "in the nodes' annotations; `explain --help` tells about the second form. Every\n"
                "flag can also be given in the environment: --log-level as PLIMSOLL_LOG_LEVEL.\n");
        options_help(rows, ARRAY_LEN(rows), stdout);
}

static int serve(void) {
        struct extender extender = {0};
        struct error err = ERROR_NULL;

        log_set((enum log_level)settings.log_level, (enum log_format)settings.log_format);
        int status = run(&extender, &err);
        if (status != 0)
                log_error(MSG("cannot start"), ERR(&err));
        extender_done(&extender);
        if (status == 0)
                log_info(MSG("ended"));
        return status;
}

int main(int argc, char **argv) {
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int first, status = 0;

        if (argc > 1 && strcmp(argv[1], "explain") == 0)
                return explain_main(argc - 1, argv + 1);

        daemon_block_signals();
        int r = options_parse(rows, ARRAY_LEN(rows), argc, argv, &outcome, &first, &err);
        if (r == 0 && outcome == OPTIONS_RUN && first < argc)
                r = error_set(&err, EINVAL, "'%.64s': expected a flag or 'explain'", argv[first]);
        else if (r == 0 && outcome == OPTIONS_HELP)
                help();
        else if (r == 0 && outcome == OPTIONS_VERSION)
                (void)puts("plimsoll-extender " PLIMSOLL_VERSION);
        else if (r == 0 && settings.is_check)
                r = check_config(&err);
        else if (r == 0)
                status = serve();
        if (r < 0) {
                (void)fprintf(stderr, "plimsoll-extender: %s\n", err.msg);
                status = EXIT_USAGE;
        }
        options_done(rows, ARRAY_LEN(rows));
        return status;
}
