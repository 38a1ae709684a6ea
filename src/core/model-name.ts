/** More than the longest name that a vendor permits for a resource. */
const MOST_CHARACTERS = 512

/**
 * The name under which a model is looked up, counted, priced, learned about and logged. Clients choose it freely: one of megabytes would
 * be searched by every pattern and stored with every record. It is sent as the client wrote it.
 */
export const modelName = (given: string): string =>
  given.length <= MOST_CHARACTERS
    ? given
    : `${given.slice(0, MOST_CHARACTERS).toWellFormed()}… (${given.length} characters)`
