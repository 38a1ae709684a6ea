import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { contentOf } from './content.ts'

/** Writes artifacts until it is killed or has written `count`, and says which ones were acknowledged. */
const [directory = '', secret = '', from = '0', count = '1000000', parallel = '1'] = process.argv.slice(2)
const store = fileArtifacts({ directory, secret: Buffer.from(secret, 'hex') })

async function write(first: number, step: number): Promise<void> {
  for (let i = first; i < Number(from) + Number(count); i += step) {
    const { handle } = await store.put('a', contentOf(i), { tool: 'child', session: `s${i % 3}` })
    process.stdout.write(`${i} ${handle}\n`)
  }
}

await Promise.all(Array.from({ length: Number(parallel) }, (_, lane) => write(Number(from) + lane, Number(parallel))))
await store.close()
