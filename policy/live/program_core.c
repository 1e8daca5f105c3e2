#include "policy/live/program_core.h"

#include "base/mem.h"

void program_core_init(struct program_core *core, const char *program) {
        core->loop = loop_new();
        core->metrics = metrics_new();
        core->health = health_new();
        core->metrics_page = daemon_metrics_page(core->loop, core->metrics);
        metrics_register_process(core->metrics, program);
        health_heartbeat(core->health, core->loop, HEALTH_MAX_STUCK_MS);
}

int program_core_follow_policy(struct program_core *core, const struct program_options *options,
                               policy_source_fn *on_policy, void *userdata, struct policy **ret,
                               struct error *err) {
        return policy_source_new(&(struct policy_source_options){.loop = core->loop,
                                                                 .metrics = core->metrics,
                                                                 .health = core->health,
                                                                 .path = options->policy_path,
                                                                 .is_strict = options->is_strict,
                                                                 .on_policy = on_policy,
                                                                 .userdata = userdata},
                                 &core->policy_source, ret, err);
}

int program_core_connect(struct program_core *core, const char *program,
                         const struct kube_access_options *options, struct error *err) {
        _cleanup_(freep) char *user_agent = xasprintf("%s/" PLIMSOLL_VERSION, program);

        int r = kube_access_load(options, &core->kube_access, err);
        if (r < 0)
                return r;
        core->kube_client = http_client_new(
                core->loop,
                &(struct http_client_options){.expected_hosts = 1, .user_agent = user_agent});
        core->api = kube_api_new(core->loop, core->kube_client, core->kube_access, core->metrics);
        return 0;
}

void program_core_done(struct program_core *core) {
        policy_source_free(core->policy_source);
        kube_api_free(core->api);
        http_client_free(core->kube_client);
        kube_access_free(core->kube_access);
        daemon_signals_free(core->signals);
        health_free(core->health);
        shared_page_free(core->metrics_page);
        metrics_free(core->metrics);
        loop_free(core->loop);
}
