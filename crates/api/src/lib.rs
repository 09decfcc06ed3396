//! Wire types, the OpenAPI document's components and the typed client.
