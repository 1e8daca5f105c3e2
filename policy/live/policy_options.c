#include "policy/live/policy_options.h"

#include <stdio.h>

int policy_options_check(const char *program, const struct program_options *options,
                         const struct option_row *rows, size_t row_count, struct error *err) {
        _cleanup_(policy_freep) struct policy *policy = NULL;
        _cleanup_(kube_access_freep) struct kube_access *config = NULL;
        const struct kube_access_options *kube = &options->kube;

        int r = policy_load_file(options->policy_path, options->is_strict, &policy, err);
        if (r == 0 && (kube->kubeconfig || kube->master))
                r = kube_access_load(kube, &config, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < size_min(policy->warning_count, POLICY_MAX_WARNINGS); i++)
                (void)fprintf(stderr, "%s: warning: %s\n", program, policy->warnings[i]);
        (void)printf("# Options\n");
        options_dump(rows, row_count, stdout);
        (void)printf("\n# Policy\n%s", policy->text);
        return 0;
}
