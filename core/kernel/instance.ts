import { token } from './token.ts'

/** Which processes serve this database, by the database's clock. Each process has an id of its own, new at each start. */
export interface InstanceRegister {
  /** Says that this process lives. One that is silent for ten seconds counts as dead: its begun work may be taken over. */
  beat(): Promise<void>
  /** Takes this process off the register, so that it counts as dead at once. */
  leave(): Promise<void>
}
export const InstanceRegisterToken = token<InstanceRegister>('kernel.InstanceRegister')
