import { detectManagers } from './managers.ts'
import { detectLocation, detectProject, detectProvider } from './provider.ts'
import type { ClusterFacts, ClusterSurvey } from './types.ts'

/** What a survey means. */
export const factsOf = (survey: ClusterSurvey): ClusterFacts => ({
  uid: survey.uid,
  kubernetesVersion: survey.kubernetesVersion,
  isReady: survey.isReady,
  nodeCount: survey.nodeCount,
  provider: detectProvider(survey.nodes),
  location: detectLocation(survey.nodes),
  project: detectProject(survey.nodes),
  managers: detectManagers(survey),
})
