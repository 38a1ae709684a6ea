import { createDrain } from '../../src/engine/intake/index.ts'
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
 * The measure of the log-parsing literature: the share of messages whose group holds exactly the messages of its true event,
 * none more and none less. `events`: CSV of line number and event id.
 */
export function groupingAccuracy(log: string, events: string): number {
  const truth = events
    .trim()
    .split('\n')
    .slice(1)
    .map((row) => row.trim().split(',')[1]!)
  const messages = log.split('\n', truth.length).map((line) => parseLogLine(line.replace(/\r$/, '')).message)
  const drain = createDrain()
  messages.forEach((message, i) => drain.add(message, i))
  drain.groups()
  const found = messages.map((message) => String(drain.groupOf(message)))
  const byGroup = new Map<string, number[]>()
  found.forEach((group, i) => byGroup.set(group, [...(byGroup.get(group) ?? []), i]))
  const sizes = new Map<string, number>()
  for (const event of truth) sizes.set(event, (sizes.get(event) ?? 0) + 1)
  let right = 0
  for (const members of byGroup.values()) {
    const inside = new Set(members.map((i) => truth[i]!))
    if (inside.size === 1 && sizes.get([...inside][0]!) === members.length) right += members.length
  }
  return right / truth.length
}
