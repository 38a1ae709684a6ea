/**
 * Errors and speed of counting, printed as tables: `npm run bench:tokens [accuracy|provider|speed|hostile …]`. Needs the shared
 * data; figures of errors are on held-out files and sessions, never on those that were fitted.
 */
import { benchAccuracy } from './lib/accuracy.ts'
import { loadCorpus } from './lib/corpus.ts'
import { benchProvider } from './lib/provider.ts'
import { benchRequests } from './lib/requests.ts'
import { sharedData } from './lib/shared.ts'
import { benchHostile, benchSpeed } from './lib/speed.ts'

const data = sharedData()
if (data === undefined) {
  console.error('The benchmark needs the shared data: set PLIMSOLL_SHARED to the folder that holds `data`.')
  process.exit(1)
}
const asked = process.argv.slice(2)
const wants = (section: string): boolean => asked.length === 0 || asked.includes(section)
const corpus = loadCorpus(data)
if (wants('accuracy')) await benchAccuracy(corpus)
if (wants('requests')) await benchRequests(data)
if (wants('provider')) await benchProvider(data)
if (wants('speed')) await benchSpeed(corpus)
if (wants('hostile')) await benchHostile()
