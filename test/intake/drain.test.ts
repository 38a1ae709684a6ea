import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { Drain } from '../../src/engine/intake/logs/drain.ts'
import { parseLogLine } from '../../src/engine/intake/logs/log-line.ts'
import { recorded } from '../support/shared-data.ts'
import { toolOutputs } from './helpers.ts'
import { groupingAccuracy, LOGHUB_SYSTEMS } from './grouping-accuracy.ts'

const mine = (messages: readonly string[]): Record<string, number> => {
  const drain = new Drain()
  messages.forEach((message, i) => drain.add(message, i))
  return Object.fromEntries(drain.groups().map(({ template, count }) => [template, count]))
}

describe('mined templates', () => {
  it('replace what varies and keep the words', () => {
    expect(mine(['took 5 ms for /a/b', 'took 7 ms for /c', 'took 1.5 s for http://x/y?a=b'])).toEqual({
      'took <*> for <*>': 3,
    })
  })

  it('keep a few different verbs apart', () => {
    const events = ['VM Started (event)', 'VM Stopped (event)', 'VM Started (event)']
    expect(mine([...events, ...events, ...events])).toEqual({ 'VM Started (<*>)': 6, 'VM Stopped (<*>)': 3 })
  })

  it('join a column of many words', () => {
    const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta']
    expect(mine(words.map((word) => `loaded module ${word} from disk`))).toEqual({ 'loaded module <*> from <*>': 6 })
  })

  it('take the word after "user" as a name', () => {
    expect(mine(['Invalid user bob from 1.2.3.4', 'Invalid user eve from 5.6.7.8'])).toEqual({
      'Invalid user <*> from <*>': 2,
    })
  })

  it('say where the first and the last member stand, with the first as example', () => {
    const drain = new Drain()
    drain.add('job 1 failed', 10)
    drain.add('something else', 11)
    drain.add('job 2 failed', 30)
    expect(drain.groups()[0]).toEqual({
      template: 'job <*> failed',
      count: 2,
      first: 10,
      last: 30,
      example: 'job 1 failed',
    })
  })
})

describe('log lines', () => {
  it.each([
    ['2025-06-20T10:37:30.113Z [ERROR] auth - it broke', 'error', 'it broke'],
    ['Jun 14 15:16:01 combo sshd(pam_unix)[19939]: check pass', 'unknown', 'check pass'],
    ['081109 203615 148 INFO dfs.DataNode$PacketResponder: block done', 'info', 'block done'],
    ['03-17 16:13:38.811  1702  2395 D WindowManager: freezing', 'debug', 'freezing'],
    ['2015-07-29 17:41:44,747 - WARN  [QuorumPeer[myid=1]/0:0:2181:F@774] - time out', 'warn', 'time out'],
    ['[Sun Dec 04 04:47:44 2005] [notice] init ok', 'info', 'init ok'],
    ['E0612 12:34:56.789012       1 server.go:12] it broke', 'error', 'it broke'],
    ['1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 503 12', 'error', '1.2.3.4 "GET / HTTP/1.0" 503 12'],
    ['time=2025-01-01T00:00:00Z level=warning msg="disk is full" free=0', 'warn', 'disk is full'],
    ['level=constructor msg=built', 'unknown', 'built'],
    ['17/06/09 20:10:40 INFO spark.SecurityManager: Changing acls', 'info', 'Changing acls'],
    ['Traceback (most recent call last):', 'error', 'Traceback (most recent call last):'],
    ['finished with 0 errors', 'unknown', 'finished with 0 errors'],
  ])('%s', (line, level, message) => {
    expect(parseLogLine(line)).toMatchObject({ level, message })
  })
})

describe.each(recorded)('grouping accuracy on logs with known templates', () => {
  it('is at least 0.85 on average', () => {
    const scores = LOGHUB_SYSTEMS.map((system) => {
      const log = gunzipSync(readFileSync(join(toolOutputs, 'loghub', `${system}_2k.log.gz`))).toString()
      const events = readFileSync(join(toolOutputs, 'loghub', `${system}_2k.events.csv`), 'utf8')
      return { system, accuracy: groupingAccuracy(log, events) }
    })
    const mean = scores.reduce((sum, { accuracy }) => sum + accuracy, 0) / scores.length
    console.info(
      scores.map(({ system, accuracy }) => `${system} ${accuracy.toFixed(3)}`).join(', '),
      `mean ${mean.toFixed(3)}`,
    )
    expect(scores.length).toBe(8)
    expect(mean).toBeGreaterThanOrEqual(0.85)
  })
})
