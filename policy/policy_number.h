/* Numbers as a policy shows them: the fewest digits that read back as the same double. */
#pragma once

enum { POLICY_NUMBER_MAX = 32 };

/** policy_number_format() - 0.2 as "0.2" */
void policy_number_format(double value, char text[static POLICY_NUMBER_MAX]);
/** policy_number_format_percent() - 0.65 as "65", 0.655 as "65.5" */
void policy_number_format_percent(double ratio, char text[static POLICY_NUMBER_MAX]);
