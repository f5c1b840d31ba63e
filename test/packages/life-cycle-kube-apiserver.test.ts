import { needing } from '../support/components/needing.ts'
import { startRealBench } from './life-cycle-bench.ts'
import { lifeCycleSuite } from './life-cycle.suite.ts'

lifeCycleSuite(needing('helm', 'kubernetes'), 'helm 4 on a real kube-apiserver', () => startRealBench('helm4'))
