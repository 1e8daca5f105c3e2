#include "controller/settings.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/source/prometheus/prometheus.h"
#include "controller/source/scrape/scrape_kinds.h"
#include "controller/source_kinds.h"
#include "kube/kube_path.h"
#include "net/http_server.h"
#include "policy/live/policy_options.h"

/* The values of the rows, read once by settings_parse(). */
static struct settings parsed;

/* Values that are converted below. */
static struct {
        const char *metrics_source, *url_template, *prometheus_address;
        int64_t scrape_interval_ms;
        bool is_kubelet_insecure;
        const char *node_address_types;
        const char *network_devices, *network_speed;
} raw;

static const char *const outputs[] = {"table", "json", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        {.help = "Policy and annotations"},
        PROGRAM_POLICY_ROWS(parsed.shared),
        PROGRAM_ANNOTATION_ROWS(parsed.shared),

        {.help = "Cluster"},
        PROGRAM_KUBE_ROWS(parsed.shared),
        {.name = "node-selector", .type = OPTION_STRING, .value = &parsed.controller.node_selector, .metavar = "SELECTOR",
         .help = "Label selector of the nodes to follow. Default: all nodes."},
        {.name = "patch-qps", .type = OPTION_NUMBER, .value = &parsed.controller.writing.patches_per_s, .fallback = "50", .metavar = "N", .min = 0.1, .max = 10000,
         .help = "Maximum number of patches per second."},

        {.help = "Leader election"},
        {.name = "leader-elect", .type = OPTION_BOOL, .value = &parsed.controller.writing.is_elected, .fallback = "true",
         .help = "Write only as the replica that holds the Lease."},
        {.name = "leader-elect-lease-duration", .type = OPTION_DURATION_MS, .value = &parsed.controller.writing.lease.timing.duration_ms, .fallback = "15s", .metavar = "DURATION", .min = 1000, .max = 3600000,
         .help = "Time from the last renewal until another replica may acquire the lease."},
        {.name = "leader-elect-renew-deadline", .type = OPTION_DURATION_MS, .value = &parsed.controller.writing.lease.timing.renew_deadline_ms, .fallback = "10s", .metavar = "DURATION", .min = 100, .max = 3600000,
         .help = "How long the leader keeps writing while its renewals fail."},
        {.name = "leader-elect-retry-period", .type = OPTION_DURATION_MS, .value = &parsed.controller.writing.lease.timing.retry_ms, .fallback = "2s", .metavar = "DURATION", .min = 50, .max = 3600000,
         .help = "Time between renewals, and between attempts to acquire the lease."},
        {.name = "leader-elect-resource-name", .type = OPTION_STRING, .value = &parsed.controller.writing.lease.name, .fallback = "plimsoll-controller", .metavar = "NAME",
         .help = "Name of the Lease. Use another for controllers that write other annotations or nodes."},
        {.name = "leader-elect-resource-namespace", .type = OPTION_STRING, .value = &parsed.controller.writing.lease.namespace, .metavar = "NAMESPACE",
         .help = "Namespace of the Lease. Default: the pod's own, else kube-system."},

        {.help = "Sources"},
        {.name = "metrics-source", .type = OPTION_STRING, .value = &raw.metrics_source, .metavar = "LIST",
         .help = "Sources in order of preference, comma-separated: node-exporter, kubelet, prometheus, metrics-server, node-metrics. Default: node-exporter."},
        {.name = "scrape-interval", .type = OPTION_DURATION_MS, .value = &raw.scrape_interval_ms, .metavar = "DURATION", .min = 1000, .max = 300000,
         .help = "Time between two readings of a node. Default: 15s; for prometheus 30s."},
        {.name = "target-url-template", .type = OPTION_STRING, .value = &raw.url_template, .metavar = "URL", .hides_query = true,
         .help = "URL of a node's exporter, with {node} or {address}. Default: http://{address}:9100/metrics."},
        {.name = "prometheus-address", .type = OPTION_STRING, .value = &raw.prometheus_address, .metavar = "URL",
         .help = "URL of the server for --metrics-source=prometheus."},
        {.name = "kubelet-insecure-skip-verify", .type = OPTION_BOOL, .value = &raw.is_kubelet_insecure,
         .help = "Do not verify kubelets' certificates. Anyone who can answer at a node's address then gets the controller's token."},
        {.name = "sources", .type = OPTION_STRING, .value = &parsed.sources_path, .metavar = "FILE",
         .help = "Take the sources from this YAML file instead of the five flags above."},
        {.name = "node-address-types", .type = OPTION_STRING, .value = &raw.node_address_types, .fallback = "InternalIP,ExternalIP,Hostname", .metavar = "LIST",
         .help = "Types of the address at which a node is scraped, in order of preference."},
        {.name = "network-device-pattern", .type = OPTION_STRING, .value = &raw.network_devices,
         .metavar = "GLOB[,GLOB...]",
         .help = "Network devices to measure, such as eth*,ens192. Default: physical ones."},
        {.name = "network-speed", .type = OPTION_STRING, .value = &raw.network_speed,
         .metavar = "BITS",
         .help = "Speed of network devices that do not report it, in bits per second, such as 10G."},

        {.help = "Dry run"},
        {.name = "dry-run", .type = OPTION_BOOL, .value = &parsed.controller.writing.is_dry_run,
         .help = "Print every node's values once per interval, and write nothing."},
        {.name = "target", .type = OPTION_LIST, .value = &parsed.controller.targets, .metavar = "NAME=URL", .hides_query = true,
         .help = "With --dry-run: read this page instead of the cluster's nodes."},
        {.name = "once", .type = OPTION_BOOL, .value = &parsed.controller.is_once,
         .help = "With --dry-run: read every node twice, print once, and exit."},
        {.name = "output", .type = OPTION_ENUM, .value = &parsed.controller.output, .fallback = "table", .choices = outputs,
         .help = "Format of --dry-run: table, or json with one object per node and line."},
        PROGRAM_CHECK_ROW(parsed.shared),

        {.help = "Pages and log"},
        {.name = "bind-address", .type = OPTION_STRING, .value = &parsed.bind_address, .metavar = "ADDRESS",
         .help = "Address of the pages. Default: all addresses."},
        {.name = "health-port", .type = OPTION_INT, .value = &parsed.health_port, .fallback = KUBE_PORT_TEXT(KUBE_PORT_CONTROLLER), .metavar = "PORT", .min = 0, .max = 65535,
         .help = "Port of the pages; 0 picks a free port."},
        PROGRAM_STATUS_PAGE_ROW(parsed.shared,
         "Serve the status page, with the name, labels and usage of every node."),
        {.name = "node-series", .type = OPTION_BOOL, .value = &parsed.controller.has_node_metrics, .fallback = "true",
         .help = "Show the usage of each node on the metrics page."},
        PROGRAM_LOG_ROWS(parsed.shared),
};
/* clang-format on */

/* What the API server refuses is said again and again; commas too many are the usual slip. */
static int check_node_selector(struct error *err) {
        const char *text = parsed.controller.node_selector ? parsed.controller.node_selector : "";
        bool is_empty = true, is_wrong = false;
        int depth = 0;

        for (const char *c = text; *c; c++) {
                depth += (*c == '(') - (*c == ')');
                is_wrong |= depth < 0 || (*c == ',' && depth == 0 && is_empty);
                is_empty = depth == 0 && (*c == ',' || (*c == ' ' && is_empty));
        }
        if (!*text || (!is_wrong && !is_empty && depth == 0))
                return 0;
        (void)error_set(
                err, EINVAL,
                "expected requirements between commas, such as pool=web,!gpu,zone in (a,b), "
                "got '%.128s'",
                text);
        return options_wrap(err, -EINVAL, &parsed.controller.node_selector);
}

/* Checks that need several options. */
static int check_together(struct error *err) {
        if (parsed.controller.targets.count > 0 && !parsed.controller.writing.is_dry_run) {
                (void)error_set(err, EINVAL,
                                "needs --dry-run: only nodes of the API server can be written");
                return options_wrap(err, -EINVAL, &parsed.controller.targets);
        }
        if (parsed.controller.is_once && !parsed.controller.writing.is_dry_run) {
                (void)error_set(err, EINVAL,
                                "needs --dry-run: a pass that writes would replace "
                                "long windows by short ones");
                return options_wrap(err, -EINVAL, &parsed.controller.is_once);
        }
        for (size_t i = 0; i < parsed.controller.targets.count; i++) {
                _cleanup_(freep) char *name = NULL;
                const char *url;
                int r = node_set_read_target(parsed.controller.targets.items[i], &name, &url, err);
                if (r < 0)
                        return options_wrap(err, r, &parsed.controller.targets);
        }
        int r = check_node_selector(err);
        if (r < 0)
                return r;
        r = lease_timing_check(&parsed.controller.writing.lease.timing, err);
        if (r < 0)
                return error_wrap(err, r,
                                  "--leader-elect-lease-duration, --leader-elect-renew-deadline, "
                                  "--leader-elect-retry-period");
        if (!parsed.controller.writing.lease.name[0] ||
            strchr(parsed.controller.writing.lease.name, '/')) {
                (void)error_set(err, EINVAL, "expected the name of a Lease");
                return options_wrap(err, -EINVAL, &parsed.controller.writing.lease.name);
        }
        r = http_server_check(parsed.bind_address, &(struct http_server_tls){0}, err);
        if (r < 0)
                return options_wrap(err, r, &parsed.bind_address);
        return 0;
}

static int read_network(struct node_network_options *ret, struct error *err) {
        int r = 0;

        if (raw.network_devices)
                r = glob_list_parse(raw.network_devices, &ret->devices, err);
        if (r < 0)
                return options_wrap(err, r, &raw.network_devices);
        if (raw.network_speed)
                r = node_network_speed_parse(raw.network_speed, &ret->speed_bytes, err);
        return r < 0 ? options_wrap(err, r, &raw.network_speed) : 0;
}

/* The option that sets the field of a source. */
static const void *option_of(const struct source_spec *spec, const char *field) {
        if (strcmp(field, "kind") == 0)
                return &raw.metrics_source;
        return spec->kind == &prometheus_kind ? &raw.prometheus_address : &raw.url_template;
}

static int read_source_flags(struct error *err) {
        const struct source_spec *wrong;
        const char *field;
        bool has_prometheus = false;

        int r = source_list_order(raw.metrics_source ? raw.metrics_source : "node-exporter",
                                  source_kinds, &parsed.sources, err);
        if (r < 0)
                return options_wrap(err, r, &raw.metrics_source);
        for (size_t i = 0; i < parsed.sources->count; i++) {
                struct source_spec *spec = &parsed.sources->specs[i];
                if (raw.scrape_interval_ms > 0)
                        spec->traits.interval_ms = raw.scrape_interval_ms;
                if (spec->kind == &prometheus_kind)
                        spec->url = raw.prometheus_address;
                else if (spec->kind == &node_exporter_kind && raw.url_template)
                        spec->url = raw.url_template;
                else if (spec->kind == &kubelet_kind)
                        spec->credentials.is_insecure = raw.is_kubelet_insecure;
                has_prometheus |= spec->kind == &prometheus_kind;
        }
        if (raw.prometheus_address && !has_prometheus) {
                (void)error_set(err, EINVAL, "needs prometheus in --metrics-source");
                return options_wrap(err, -EINVAL, &raw.prometheus_address);
        }
        r = source_list_check(parsed.sources, &parsed.source_rules, &wrong, &field, err);
        return r < 0 ? options_wrap(err, r, option_of(wrong, field)) : 0;
}

static int refuse_source_flags(struct error *err) {
        const struct {
                bool is_set;
                const void *value;
        } options[] = {
                {raw.metrics_source, &raw.metrics_source},
                {raw.scrape_interval_ms > 0, &raw.scrape_interval_ms},
                {raw.url_template, &raw.url_template},
                {raw.prometheus_address, &raw.prometheus_address},
                {raw.is_kubelet_insecure, &raw.is_kubelet_insecure},
        };

        for (size_t i = 0; i < ARRAY_LEN(options); i++)
                if (options[i].is_set) {
                        (void)error_set(err, EINVAL,
                                        "cannot be combined with --sources: remove it, and set it "
                                        "in that file");
                        return options_wrap(err, -EINVAL, options[i].value);
                }
        return 0;
}

static int read_sources(struct error *err) {
        parsed.source_rules = (struct source_list_rules){
                .kinds = source_kinds,
                .opens_files = parsed.shared.is_check_config,
                .takes_targets = parsed.controller.targets.count > 0,
        };
        /* Kubelets show what pods use, whatever the sources of nodes are. */
        parsed.kubelet = source_spec_default(&kubelet_kind);
        parsed.kubelet.credentials.is_insecure = raw.is_kubelet_insecure;
        parsed.controller.kubelet = &parsed.kubelet;
        int r = read_network(&parsed.controller.network, err);
        if (r < 0)
                return r;
        return parsed.sources_path ? refuse_source_flags(err) : read_source_flags(err);
}

/* Some flags switch others off. */
static void settle_options(struct controller_options *controller) {
        bool has_targets = controller->targets.count > 0;

        parsed.has_server = !controller->is_once && !has_targets;
        controller->has_node_metrics &= parsed.has_server;
}

int settings_parse(int argc, char **argv, enum options_outcome *ret_outcome, struct settings *ret,
                   struct error *err) {
        struct controller_options *controller = &parsed.controller;
        int args = 0;

        int r = options_parse(rows, ARRAY_LEN(rows), argc, argv, ret_outcome, &args, err);
        if (r < 0)
                return r;
        if (*ret_outcome != OPTIONS_RUN) {
                *ret = (struct settings){0};
                return 0;
        }
        if (args < argc)
                return error_set(err, EINVAL, "'%s': unexpected argument", argv[args]);
        r = check_together(err);
        if (r < 0)
                return r;
        r = read_sources(err);
        if (r < 0)
                return r;
        r = node_set_address_types(raw.node_address_types, &controller->nodes, err);
        if (r < 0)
                return options_wrap(err, r, &raw.node_address_types);
        r = program_annotations_init(&parsed.annotations, &parsed.shared, err);
        if (r < 0)
                return r;
        controller->compiled.style = (struct plan_style){.prefix = parsed.annotations.prefix,
                                                         .zone = parsed.annotations.zone};
        settle_options(controller);
        *ret = parsed;
        return 0;
}

void settings_begin(void) {
        program_begin("plimsoll-controller", &parsed.shared, rows, ARRAY_LEN(rows));
}

void settings_help(FILE *out) {
        (void)fputs("Usage: plimsoll-controller [FLAG...]\n\n"
                    "Measure the usage of every node and write it as annotations on the Node, for\n"
                    "plimsoll-extender or crane's scheduler plugin. Every flag can also be set in\n"
                    "the environment: --log-level as PLIMSOLL_LOG_LEVEL.\n\n"
                    "Print what would be written on a cluster, or what one exporter says:\n"
                    "  plimsoll-controller --kubeconfig=admin.conf --dry-run --once\n"
                    "  plimsoll-controller --dry-run --scrape-interval=1s \\\n"
                    "      --target web-1=http://127.0.0.1:9100/metrics\n\n",
                    out);
        options_help(rows, ARRAY_LEN(rows), out);
}

int settings_check(struct error *err) {
        _cleanup_(source_list_freep) struct source_list *list = NULL;

        int r = parsed.sources_path
                        ? source_list_load(parsed.sources_path, &parsed.source_rules, &list, err)
                        : 0;
        if (r < 0)
                return r;
        return policy_options_check("plimsoll-controller", &parsed.shared, rows, ARRAY_LEN(rows),
                                    err);
}

char *settings_flagz(void) {
        struct buf out = BUF_INIT(OPTIONS_FLAGZ_MAX_BYTES);

        options_flagz("plimsoll-controller", rows, ARRAY_LEN(rows), &out);
        return buf_take(&out);
}

void settings_done(struct settings *settings) {
        program_annotations_done(&settings->annotations);
        source_list_free(TAKE_PTR(settings->sources));
        settings->controller.compiled.style = (struct plan_style){0};
        options_done(rows, ARRAY_LEN(rows));
}
