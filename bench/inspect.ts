/**
 * How long `plimsoll inspect` takes on a session of 50 MB, from start to exit: on the clock, and in processor time, which a busy machine
 * stretches less.
 *
 *   npm run bench:inspect [-- --megabytes 50]
 */
import { spawnSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '50' } } })
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
const file = join(folder, 'session.jsonl')
const binary = resolve(import.meta.dirname, '../dist/cli/main.js')

/** A Claude Code session that reads files and runs commands; results of 2 to 60 kB. */
async function write(bytes: number): Promise<number> {
  const out = createWriteStream(file)
  let seed = 1
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  let written = 0
  let calls = 0
  while (written < bytes) {
    const id = `toolu_${calls}`
    const at = new Date(1_760_000_000_000 + calls * 5_000).toISOString()
    const lines = Array.from(
      { length: 40 + Math.floor(random() * 900) },
      (_, line) =>
        `${line + 1}\tconst value${Math.floor(random() * 9_999)} = await service.call(${line}, 'key-${calls}')`,
    )
    const common = { sessionId: 'bench', timestamp: at, isSidechain: false, version: '2.0.0', cwd: '/work' }
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 1_000 + calls,
      cache_creation_input_tokens: 500,
      output_tokens: 40,
    }
    const records = [
      {
        ...common,
        type: 'assistant',
        uuid: `a${calls}`,
        parentUuid: `u${calls}`,
        requestId: `req_${calls}`,
        message: {
          id: `msg_${calls}`,
          type: 'message',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [
            { type: 'tool_use', id, name: 'Read', input: { file_path: `/srv/app/src/file-${calls % 200}.ts` } },
          ],
          usage,
        },
      },
      {
        ...common,
        type: 'user',
        uuid: `u${calls + 1}`,
        parentUuid: `a${calls}`,
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: lines.join('\n') }] },
      },
    ]
    if (calls === 0)
      records.unshift({
        ...common,
        type: 'user',
        uuid: 'u0',
        parentUuid: '',
        message: { role: 'user', content: [{ type: 'text', text: 'Read everything.' }] },
      } as never)
    const text = `${records.map((record) => JSON.stringify(record)).join('\n')}\n`
    written += text.length
    calls++
    if (!out.write(text)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  return calls
}

try {
  const calls = await write(Number(values.megabytes) * 1_000_000)
  for (let run = 1; run <= 3; run++) {
    const startedAt = performance.now()
    // `times` tells what the children of the shell have used, on its second line.
    const script = '"$0" "$1" inspect "$2" >/dev/null && times'
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script, process.execPath, binary, file], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(2)
    const [user = 0, system = 0] = [...stdout.split('\n')[1]!.matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, minutes, rest]) => 60 * Number(minutes) + Number(rest),
    )
    console.log(
      `${(statSync(file).size / 1e6).toFixed(1)} MB, ${calls} calls: ${seconds} s, ${user.toFixed(2)} + ${system.toFixed(2)} s of processor`,
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
