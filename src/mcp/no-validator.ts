/**
 * Takes the place of the JSON Schema validator that the SDK loads (scripts/build.mjs). A server needs it only to check
 * answers of a person to its questions, and this server asks none.
 */
export class AjvJsonSchemaValidator {
  getValidator(): never {
    throw new Error('This server asks no questions.');
  }
}
