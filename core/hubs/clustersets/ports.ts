import type { Hub, HubObject, HubReadFailure } from '../../clusters/hubs/ports.ts'
import type { Outcome } from '../../kernel/failure.ts'
import { portKey } from '../../kernel/port-key.ts'

/** Judges spokes by the features that they report to their hub. */
export interface ProfileJudge {
  /**
   * Returns those of the managed clusters that have every feature of a cluster profile, which is the hub's own or the
   * built-in one of that name. A spoke that reports nothing, or nothing that can be read, does not have them.
   */
  satisfying(hub: Hub, clusters: readonly HubObject[], profile: string): Outcome<HubReadFailure, readonly HubObject[]>
}
export const ProfileJudgePort = portKey<ProfileJudge>('clustersets.ProfileJudge')
