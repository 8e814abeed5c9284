"""GPCNet: outputs of ``network_test`` and ``network_load_test``, read wherever they ran."""
