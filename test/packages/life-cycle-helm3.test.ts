// process: own - keeps its process busy
import { needing } from '../support/components/needing.ts'
import { startOnFakeCluster } from './life-cycle-clusters.ts'
import { lifeCycleSuite } from './life-cycle.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

declareSuite(lifeCycleSuite, 'helm 3 on an API in this process', () => startOnFakeCluster('helm3'), needing('helm'))
