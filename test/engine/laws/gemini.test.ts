import { describeLaws } from './laws.ts'

describeLaws('gemini')
