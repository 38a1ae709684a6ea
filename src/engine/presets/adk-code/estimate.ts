import { type LoadEstimator, utf8Length } from '../messages.ts'

/** Bytes / 4 of each item, whole numbers. */
export const adkCodeEstimator: LoadEstimator = {
  name: 'adk-code',
  estimate: ({ head, items }) =>
    [...head, ...items].reduce((sum, { text }) => sum + Math.floor(utf8Length(text) / 4), 0),
}
