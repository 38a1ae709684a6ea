import { describeLaws } from './laws.ts'

describeLaws('anthropic-messages')
