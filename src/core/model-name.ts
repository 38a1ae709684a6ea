/** Longer than any vendor's model name. */
const MOST_CHARACTERS = 512

/**
 * The model name for look-ups, prices and logs. Clients may send names of megabytes, which would be matched against every pattern and stored with
 * every call, so it is cut. The request keeps the client's own name.
 */
export const modelName = (given: string): string =>
  given.length <= MOST_CHARACTERS
    ? given
    : `${given.slice(0, MOST_CHARACTERS).toWellFormed()}… (${given.length} characters)`
