import { describeLaws } from './laws.ts'

describeLaws('openai-responses')
