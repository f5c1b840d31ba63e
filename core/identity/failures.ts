import { defineFailure, type Failure } from '../kernel/failure.ts'

export const UserMissing = defineFailure('UserMissing', 'NotFound', 'The user does not exist.')

/** Returns the same message for a user who does not exist and for one who may not be seen. */
export const userMissing = (): Failure<'UserMissing'> => UserMissing('The user does not exist.')
