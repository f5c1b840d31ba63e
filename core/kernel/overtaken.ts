/**
 * Thrown when a change refers to something that another change removed while it was made, after its own checks. Nothing
 * of it happened; asked again, the request is told what is missing. The message is plain and safe to show. The binder
 * answers 409.
 */
export class Overtaken extends Error {
  constructor(cause: unknown) {
    super('What this change refers to was removed at the same moment. Nothing was changed.', { cause })
    this.name = 'Overtaken'
  }
}
