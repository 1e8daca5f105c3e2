#include "extender/decisions/decision.h"

#include <string.h>

static bool is_name(const struct decision_texts *texts, struct decision_text name,
                    const struct skim_string *node) {
        return name.len == node->len && memcmp(texts->bytes + name.at, node->text, name.len) == 0;
}

bool decision_allows(const struct decision *decision, const struct skim_string *node) {
        const struct decision_filter *filter = &decision->filter;
        const struct decision_ranking *ranking = &decision->ranking;

        for (size_t i = 0; decision->filter_count > 0 && i < filter->rejection_count; i++)
                if (is_name(&filter->texts, filter->rejections[i].node, node))
                        return false;
        for (size_t i = 0; decision->is_ranked && i < ranking->node_count; i++)
                if (is_name(&ranking->texts, ranking->nodes[i].name, node))
                        return true;
        return !decision->is_ranked ||
               ranking->call.candidates - ranking->call.duplicates > ranking->node_count;
}
