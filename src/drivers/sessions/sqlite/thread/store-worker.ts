/** The thread that writes to an SQLite store: every job of its process, one after the other, through a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import { BoundedMap } from '../../../../util/bounded-map.ts'
import { systemClock } from '../../../../ports/clock.ts'
import { plainSeal } from '../../../crypto/seal.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import type { SqliteDatabase } from '../database.ts'
import { engineError } from '../engine-errors.ts'
import { readCache } from '../read-cache.ts'
import { localWriter } from '../writer.ts'
import {
  failureOf,
  OF_OTHERS,
  OWN,
  type Call,
  type Calls,
  type Replies,
  type Reply,
  type ThreadStart,
} from './messages.ts'

/** Epochs are read here only to see whose claim was first. */
const EPOCH_BYTES = 1024 * 1024

const { path, lockTimeoutMs, name, counts: shared, hasOwnClock } = workerData as ThreadStart
const port = parentPort!
const counts = new Int32Array(shared)
let db: SqliteDatabase | undefined
let now = 0
let replies: Reply[] = []

const open = (): SqliteDatabase => (db ??= connect(path, plainSeal).db)

const context: Context = {
  seal: plainSeal,
  clock: hasOwnClock ? { now: () => now } : systemClock,
  onDamage: (problem) => reply(problem),
  epochs: new BoundedMap(EPOCH_BYTES),
  cache: readCache((connection) => connection.othersVersion()),
}
const writer = localWriter({
  path,
  open,
  context,
  lockTimeoutMs,
  explain: (error) => engineError(error, path),
  name,
  onOthers: () => void Atomics.add(counts, OF_OTHERS, 1),
  onCommit: () => void Atomics.add(counts, OWN, 1),
  onFlushed: () => tell(),
})

/** Jobs of one commit end together: one message for all of them. */
function reply(one: Reply): void {
  if (replies.push(one) === 1) queueMicrotask(tell)
}

function tell(): void {
  const commitsOfOthers = Atomics.load(counts, OF_OTHERS)
  port.postMessage({ replies, commitsOfOthers, isOwed: writer.isOwed() } satisfies Replies, [])
  replies = []
}

function perform(call: Call): Promise<unknown> {
  if (call.length === 4) return writer.run(call[1], call[3], call[2])
  switch (call[1]) {
    case 'index-words':
      return writer.indexWords()
    case 'forget-log':
      return writer.forgetLog()
    case 'close':
      return writer.close().finally(() => db?.close())
  }
}

port.on('message', (message: Calls) => {
  now = message.now
  for (const call of message.calls) {
    perform(call).then(
      (value) => reply([call[0], value]),
      (error: unknown) => reply([call[0], undefined, failureOf(error)]),
    )
  }
})

try {
  open()
  reply('ready')
} catch {
  // Whoever writes is told why.
}
