import type { PortKey } from '../../core/kernel/port-key.ts'
import type { Given, Needs } from '../../plugins/kit/group.ts'

/** The ports of a deployment. It is used only at start: nothing is resolved per request. */
export interface Container {
  /** Returns the instance of a port, which is made at the first call, after what it needs. */
  resolve<T>(token: PortKey<T>): T
  /** Returns the ports that `needs` names. */
  give<N extends Needs>(needs: N): Given<N>
  has(token: PortKey<unknown>): boolean
}
