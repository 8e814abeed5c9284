"""What the checks inherit from: mixins, hooks and handlers for ReFrame."""
