/**
 * The extension for pi, as it stands in `.pi/extensions/plimsoll.ts` (there with imports from 'plimsoll' and 'plimsoll/adapters/pi'). Loaded here
 * in process, to show that pi takes it.
 *
 *   npm run test:frameworks && npx tsx frameworks/examples/pi.ts
 */
import { tmpdir } from 'node:os'
import { DefaultResourceLoader } from '@earendil-works/pi-coding-agent'
import { createPlimsoll } from '../../src/index.ts'
import { plimsollExtension } from '../../src/surfaces/adapters/pi.ts'

const plimsoll = createPlimsoll({ store: 'memory:' })
const extension = plimsollExtension(plimsoll, { window: 200_000 })

const loader = new DefaultResourceLoader({ cwd: tmpdir(), agentDir: tmpdir(), extensionFactories: [extension] })
await loader.reload()
const { extensions, errors } = loader.getExtensions()
console.log(`${extensions.length} extension, ${errors.length} errors`)
await plimsoll.close()
