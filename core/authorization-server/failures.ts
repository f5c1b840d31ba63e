import { defineFailure } from '../kernel/failure.ts'

export const ApplicationMissing = defineFailure('ApplicationMissing', 'NotFound', 'The application does not exist.')
export const ApplicationRefused = defineFailure(
  'ApplicationRefused',
  'Unprocessable',
  'A field of the application is missing or not valid.',
)
export const ApplicationChanged = defineFailure(
  'ApplicationChanged',
  'Conflict',
  'Another request changed the application at the same moment; nothing was changed.',
)
/** One answer for a question that is unknown, answered, expired, or of another browser. */
export const AuthorizationMissing = defineFailure(
  'AuthorizationMissing',
  'NotFound',
  'The request of the application is over, was answered already, or began in another browser.',
)
/** The answer must come from a person in a session of this service. */
export const SessionNeeded = defineFailure(
  'SessionNeeded',
  'Forbidden',
  'Only a person who is signed in with a browser may answer an application.',
)
/** The application demands a newer sign-in than that of the session. */
export const SignInAgain = defineFailure(
  'SignInAgain',
  'Conflict',
  'The application demands that the person signs in again.',
)
/** A user code is wrong too often. */
export const TooManyUserCodes = defineFailure('TooManyUserCodes', 'Backoff', 'Too many wrong codes were entered.')
