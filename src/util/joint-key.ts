/** One key for two names. Either may hold any character. */
export const jointKey = (first: string, second: string): string => `${first.length} ${first}${second}`
