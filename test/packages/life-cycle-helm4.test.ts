// process: own - keeps its process busy
import { isSwitchedOff } from '../support/components/names.ts'
import { needing } from '../support/components/needing.ts'
import { startOnFakeCluster, startOnRealCluster } from './life-cycle-clusters.ts'
import { lifeCycleSuite } from './life-cycle.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

// With helm 3, each case runs on an API in this process; with helm 4, on a real kube-apiserver where there is one.
if (isSwitchedOff('kubernetes'))
  declareSuite(lifeCycleSuite, 'helm 4 on an API in this process', () => startOnFakeCluster('helm4'), needing('helm'))
else declareSuite(lifeCycleSuite, 'helm 4 on a real kube-apiserver', () => startOnRealCluster('helm4'), needing('helm'))
