import { Drain } from '../../src/engine/intake/logs/drain.ts'
import { parseLogLine } from '../../src/engine/intake/logs/log-line.ts'

export const LOGHUB_SYSTEMS = [
  'HDFS',
  'Spark',
  'Zookeeper',
  'OpenStack',
  'Linux',
  'Android',
  'Apache',
  'OpenSSH',
] as const

/**
 * The measure of the log-parsing literature: the share of messages whose group holds exactly the messages of its true event. Whether it does
 * is told by their number, the first and the last of them. `events`: CSV of line number and event id.
 */
export function groupingAccuracy(log: string, events: string): number {
  const truth = events
    .trim()
    .split('\n')
    .slice(1)
    .map((row) => row.trim().split(',')[1]!)
  const drain = new Drain()
  for (const [i, line] of log.split('\n', truth.length).entries())
    drain.add(parseLogLine(line.replace(/\r$/, '')).message, i)
  const countOf = new Map<string, number>()
  for (const event of truth) countOf.set(event, (countOf.get(event) ?? 0) + 1)
  const spanOf = (event: string): string => `${countOf.get(event)} ${truth.indexOf(event)} ${truth.lastIndexOf(event)}`
  const whole = new Set([...countOf.keys()].map(spanOf))
  const right = drain.groups().filter(({ count, first, last }) => whole.has(`${count} ${first} ${last}`))
  return right.reduce((sum, { count }) => sum + count, 0) / truth.length
}
