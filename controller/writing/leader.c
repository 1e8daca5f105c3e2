#include "controller/writing/leader.h"

#include "base/mem.h"

struct leader {
        struct leader_options options;
        struct lease *lease; /* NULL: there is no election */
        bool may_ever_write;
        struct health_check *check;
};

struct leader *leader_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                          struct health *health, const struct leader_options *options,
                          bool may_ever_write, const struct lease_events *events) {
        struct leader *leader = xcalloc(1, sizeof(*leader));

        leader->options = *options;
        leader->may_ever_write = may_ever_write;
        leader->check = health_add(health, "leader", "not started yet");
        if (may_ever_write && options->is_elected) {
                _cleanup_(freep) char *identity = lease_identity_new();
                leader->lease = lease_new(loop, api, metrics,
                                          &(struct lease_options){.name = options->name,
                                                                  .namespace = options->namespace,
                                                                  .identity = identity,
                                                                  .timing = options->timing,
                                                                  .events = *events});
        } else {
                metrics_set(lease_leader_gauge(metrics), may_ever_write);
        }
        leader_show(leader);
        return leader;
}

void leader_free(struct leader *leader) {
        lease_free(leader->lease);
        free(leader);
}

bool leader_may_write(const struct leader *leader) {
        return leader->lease ? lease_is_leading(leader->lease) : leader->may_ever_write;
}

static int64_t until_mono_ms(const void *userdata) {
        const struct leader *leader = userdata;

        if (leader->lease)
                return lease_until_mono_ms(leader->lease);
        return leader->may_ever_write ? INT64_MAX : 0;
}

struct kube_fence leader_fence(const struct leader *leader) {
        return (struct kube_fence){until_mono_ms, leader};
}

void leader_show(struct leader *leader) {
        if (!leader->lease) {
                health_pass(leader->check, "%s",
                            leader->may_ever_write ? "leader election is off"
                                                   : "nothing is written");
                return;
        }
        const char *holder = lease_leader(leader->lease), *trouble = lease_trouble(leader->lease);
        const char *between = *trouble ? "; " : "";
        if (!lease_is_settled(leader->lease))
                health_fail(leader->check,
                            "lease %s/%s: %s; see --leader-elect and the RBAC rules (create, get, "
                            "update leases)",
                            leader->options.namespace, leader->options.name,
                            *trouble ? trouble : "waiting for an answer");
        else if (lease_is_leading(leader->lease))
                health_pass(leader->check, "%s, this replica%s%s", lease_identity(leader->lease),
                            between, trouble);
        else
                health_pass(leader->check, "%s; this replica stands by%s%s",
                            *holder ? holder : "unknown", between, trouble);
}

void leader_resign(struct leader *leader, lease_released_fn *on_done, void *userdata) {
        if (leader->lease)
                lease_release(leader->lease, on_done, userdata);
        else
                on_done(userdata);
}
