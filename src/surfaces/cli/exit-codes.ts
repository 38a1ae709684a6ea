/** What scripts can rely on. */
export const EXIT = {
  ok: 0,
  /** The work could not be done. */
  failure: 1,
  /** The command line or a file it names is wrong. */
  usage: 2,
  /** The work was done and a check that was asked for did not hold: `replay --check`, `store verify`, `doctor`, `config check`. */
  broken: 3,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
} as const
