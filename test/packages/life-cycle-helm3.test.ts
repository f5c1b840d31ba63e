// process: own - keeps its process busy
import { needing } from '../support/components/needing.ts'
import { startFakeBench } from './life-cycle-bench.ts'
import { lifeCycleSuite } from './life-cycle.suite.ts'

lifeCycleSuite(needing('helm'), 'helm 3 on an API in this process', () => startFakeBench('helm3'))
