// process: own - keeps its process busy
import { needing } from '../support/components/needing.ts'
import { startFakeBench } from './life-cycle-bench.ts'
import { lifeCycleSuite } from './life-cycle.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

declareSuite(lifeCycleSuite, 'helm 3 on an API in this process', () => startFakeBench('helm3'), needing('helm'))
