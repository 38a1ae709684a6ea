/** Whose logs and values are Plimsoll's own: accounts of budgets, learned limits. Lists of sessions leave it out. */
export const SYSTEM_TENANT = 'plimsoll'
