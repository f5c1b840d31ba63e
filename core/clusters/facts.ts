import { detectManagers } from './managers.ts'
import { detectLocation, detectProject, detectProvider } from './provider.ts'
import type { ClusterFacts, ClusterSurvey } from './types.ts'

/** As long as the columns. What a cluster says about itself is its own, and may be anything. */
const maxTextLength = 128
const maxNodes = 1_000_000

const shortened = (text: string): string => text.slice(0, maxTextLength).toWellFormed()
const countOf = (claimed: number): number => Math.min(Math.max(Math.trunc(claimed) || 0, 0), maxNodes)

/** What a survey means. */
export const factsOf = (survey: ClusterSurvey): ClusterFacts => ({
  uid: survey.uid,
  kubernetesVersion: survey.kubernetesVersion,
  isReady: survey.isReady,
  nodeCount: countOf(survey.nodeCount),
  provider: detectProvider(survey.nodes),
  location: shortened(detectLocation(survey.nodes)),
  project: shortened(detectProject(survey.nodes)),
  managers: detectManagers(survey),
})
