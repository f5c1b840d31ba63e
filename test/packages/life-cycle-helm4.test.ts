import { needing } from '../support/components/needing.ts'
import { startFakeBench } from './life-cycle-bench.ts'
import { lifeCycleSuite } from './life-cycle.suite.ts'

lifeCycleSuite(needing('helm'), 'helm 4 on an API in this process', () => startFakeBench('helm4'))
