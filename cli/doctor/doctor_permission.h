/* What the programs' accounts must be allowed to do, and may not, by SubjectAccessReviews. */
#pragma once

#include "cli/doctor/doctor_facts.h"

/** doctor_permission_ask() - one review per permission; it sets @facts->permissions */
void doctor_permission_ask(struct cluster *cluster, struct doctor_facts *facts);
