/** File listings number their lines; the number is not part of what is quoted. */
const LISTING_NUMBER = /^\s*\d+[→\t:|]/

/** What makes two lines the same, wherever they are indented or numbered. */
export const lineKey = (line: string): string => line.replace(LISTING_NUMBER, '').trim()
